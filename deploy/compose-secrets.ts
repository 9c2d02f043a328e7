import { stringify } from 'yaml';

import { ConfigError, keyNames } from '#config';
import { publicKeyOf } from '#signing';
import { natsPasswordVariable } from './generated.ts';

/**
 * The content of each secret of `docker-compose.yml`. The key is the name of its file in
 * `secrets/`.
 */
export type ComposeSecrets = Readonly<Record<string, string>>;

export interface ExistingInstallation {
  /** The secrets that the installation already has. */
  readonly existing?: ComposeSecrets;
  /**
   * The addresses in new URLs: `host:port/database` for Postgres, and `host:port` for NATS, which
   * `tls://` may precede or `?tls=off` may follow.
   */
  readonly postgres?: string | undefined;
  readonly nats?: string | undefined;
}

/**
 * Makes every secret of docker-compose.yml: keys, passwords, the URLs of Postgres and NATS with
 * these passwords, and the optional secrets, which are empty (empty means not set). Secrets that
 * the installation already has stay unchanged. Throws a `ConfigError` for a malformed address, and
 * when the two halves of the decision key do not belong together.
 */
export function makeComposeSecrets(
  components: readonly string[],
  random: () => Buffer,
  {
    existing = {},
    postgres = 'postgres:5432/gateway',
    nats = 'nats:4222',
  }: ExistingInstallation = {},
): ComposeSecrets {
  if (!/^[^\s/@]+:\d{1,5}\/[^\s/@]+$/.test(postgres)) {
    throw new ConfigError(
      `"${postgres}" must be host:port/database, such as db.example.com:5432/gateway.`,
    );
  }
  const natsAddress = /^(tls:\/\/)?([^\s/@?]+:\d{1,5}(?:\?tls=off)?)$/.exec(nats);
  if (natsAddress === null) {
    throw new ConfigError(`"${nats}" must be host:port, such as nats.example.com:4222.`);
  }
  const [, natsScheme = 'nats://', natsHost] = natsAddress;
  const existingOr = (name: string, make: () => string) => existing[name] ?? make();
  // A random password. It begins with a letter, because nats.conf would read an unquoted value that
  // begins with a digit as a number.
  const makePassword = () => `p${random().toString('hex')}`;
  const keys = keyNames.map((name) => [
    name,
    existingOr(name, () => random().toString('base64url')),
  ]);
  const { DECISION_KEY = '' } = Object.fromEntries(keys) as Record<string, string>;
  const decisionPublicKey = existingOr('DECISION_PUBLIC_KEY', () => publicKeyOf(DECISION_KEY));
  if (decisionPublicKey !== publicKeyOf(DECISION_KEY)) {
    throw new ConfigError(
      'DECISION_PUBLIC_KEY does not belong to DECISION_KEY. To change the key, delete both files; otherwise bring back the file that is missing.',
    );
  }
  const databaseUrl = (user: string, password: string) =>
    `postgres://${user}:${password}@${postgres}`;
  const ownerPassword = existingOr('POSTGRES_PASSWORD', makePassword);
  const natsSecrets = [...components, 'provision'].flatMap((user) => {
    const variable = natsPasswordVariable(user);
    const password = existingOr(variable, makePassword);
    const url = `${user.toUpperCase()}_NATS_URL`;
    return [
      [variable, password],
      [url, existingOr(url, () => `${natsScheme}${user}:${password}@${natsHost}`)],
    ];
  });
  const databaseSecrets = components
    .filter((component) => component !== 'gateway')
    .map((component) => {
      const url = `${component.toUpperCase()}_DATABASE_URL`;
      const passwordName = `POSTGRES_PASSWORD_${component.toUpperCase()}`;
      return [
        url,
        existingOr(url, () => databaseUrl(component, existingOr(passwordName, makePassword))),
      ];
    });
  return Object.fromEntries([
    ...keys,
    ['DECISION_PUBLIC_KEY', decisionPublicKey],
    ['POSTGRES_PASSWORD', ownerPassword],
    ['DATABASE_URL', existingOr('DATABASE_URL', () => databaseUrl('owner', ownerPassword))],
    ...databaseSecrets,
    ...natsSecrets,
    ...optionalSecrets.map((name) => [name, existingOr(name, () => '')]),
  ]);
}

/**
 * Secrets that may be empty. `EGRESS_CA` and `SERVERS_CA` are the contents of the files to which
 * the settings `EGRESS_CA_FILE` and `SERVERS_CA_FILE` point.
 */
export const optionalSecrets = ['SIGN_IN_PROVIDERS', 'EGRESS_PROXY', 'EGRESS_CA', 'SERVERS_CA'];

/**
 * The beginning of the names of the Secrets. The operator sets it as `secrets.prefix` of the chart.
 */
export const kubernetesSecretPrefix = 'agent-action-gateway';

/**
 * Writes a Kubernetes Secret for each owner, with only the keys that the owner reads. Throws if
 * `secrets` lacks one of these keys.
 */
export function renderKubernetesSecrets(
  secrets: ComposeSecrets,
  owners: readonly { readonly name: string; readonly secrets: readonly string[] }[],
): string {
  const manifests = owners.map(({ name, secrets: keys }) => {
    const stringData = Object.fromEntries(
      keys.map((key) => {
        const value = secrets[key];
        if (value === undefined) throw new Error(`${key} of ${name} was not made.`);
        return [key, value];
      }),
    );
    const metadata = { name: `${kubernetesSecretPrefix}-${name}` };
    return { apiVersion: 'v1', kind: 'Secret', metadata, type: 'Opaque', stringData };
  });
  return manifests
    .map((each) => `---\n${stringify(each, { lineWidth: 0, ...kubernetesYaml })}`)
    .join('');
}

/**
 * All strings are quoted, because Kubernetes and Helm read YAML 1.1, in which a plain `off` is a
 * boolean.
 */
export const kubernetesYaml = {
  defaultStringType: 'QUOTE_DOUBLE',
  defaultKeyType: 'PLAIN',
} as const;

/** The values of a `.env` file; the keys are the names of the variables. */
export function parseEnvFile(text: string): Record<string, string> {
  return Object.fromEntries(
    [...text.matchAll(/^(?:export )?([A-Z_]+)=(.*)$/gm)].map(([, name = '', value = '']) => [
      name,
      value.trim().replace(/^(['"])(.*)\1$/, '$2'),
    ]),
  );
}
