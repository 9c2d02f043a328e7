import { keyNames } from '#config';
import { publicKeyOf } from '#signing';
import { natsPasswordVariable } from './generated.ts';

/** What `docker-compose.yml` calls the file of a secret in `secrets/`, and its content. */
export type ComposeSecrets = Readonly<Record<string, string>>;

/**
 * Every secret of docker-compose.yml: keys, passwords, the URLs of Postgres and NATS with these
 * passwords, and what is optional (empty, which is as good as not set). What the installation has
 * already stays as it is; the rest is new.
 */
export function makeComposeSecrets(
  components: readonly string[],
  random: () => Buffer,
  existing: ComposeSecrets = {},
): ComposeSecrets {
  const keep = (name: string, make: () => string) => existing[name] ?? make();
  // A random password. It begins with a letter, because nats.conf would read an unquoted value that
  // begins with a digit as a number.
  const makePassword = () => `p${random().toString('hex')}`;
  const keys = keyNames.map((name) => [name, keep(name, () => random().toString('base64url'))]);
  const { DECISION_KEY = '' } = Object.fromEntries(keys) as Record<string, string>;
  const databaseUrl = (user: string, password: string) =>
    `postgres://${user}:${password}@postgres:5432/gateway`;
  const ownerPassword = keep('POSTGRES_PASSWORD', makePassword);
  const natsSecrets = [...components, 'provision'].flatMap((user) => {
    const variable = natsPasswordVariable(user);
    const password = keep(variable, makePassword);
    const url = `${user.toUpperCase()}_NATS_URL`;
    return [
      [variable, password],
      [url, keep(url, () => `nats://${user}:${password}@nats:4222`)],
    ];
  });
  const databaseSecrets = components
    .filter((component) => component !== 'gateway')
    .map((component) => {
      const url = `${component.toUpperCase()}_DATABASE_URL`;
      const passwordName = `POSTGRES_PASSWORD_${component.toUpperCase()}`;
      return [url, keep(url, () => databaseUrl(component, keep(passwordName, makePassword)))];
    });
  return Object.fromEntries([
    ...keys,
    ['DECISION_PUBLIC_KEY', keep('DECISION_PUBLIC_KEY', () => publicKeyOf(DECISION_KEY))],
    ['POSTGRES_PASSWORD', ownerPassword],
    ['DATABASE_URL', keep('DATABASE_URL', () => databaseUrl('owner', ownerPassword))],
    ...databaseSecrets,
    ...natsSecrets,
    ...optionalSecrets.map((name) => [name, keep(name, () => '')]),
  ]);
}

/** `EGRESS_CA` is the file that the setting `EGRESS_CA_FILE` names. */
const optionalSecrets = ['SIGN_IN_PROVIDERS', 'EGRESS_PROXY', 'EGRESS_CA'];

/** The values of a `.env` file by name. */
export function parseEnvFile(text: string): Record<string, string> {
  return Object.fromEntries(
    [...text.matchAll(/^(?:export )?([A-Z_]+)=(.*)$/gm)].map(([, name = '', value = '']) => [
      name,
      value.trim().replace(/^(['"])(.*)\1$/, '$2'),
    ]),
  );
}
