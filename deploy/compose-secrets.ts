import { keyNames } from '#config';
import { publicKeyOf } from '#signing';
import { natsPasswordVariable } from './generated.ts';

/**
 * A new value for every `${NAME:?}` of docker-compose.yml. The public key is made from
 * `decisionKey` if the installation has a decision key already.
 */
export function makeComposeSecrets(
  components: readonly string[],
  random: () => Buffer,
  decisionKey?: string,
): Record<string, string> {
  // A random password. It begins with a letter, because nats.conf would read an unquoted value that
  // begins with a digit as a number.
  const makePassword = () => `p${random().toString('hex')}`;
  const madeSecrets = Object.fromEntries(
    keyNames.map((name) => [name, random().toString('base64url')]),
  ) as Record<(typeof keyNames)[number], string>;
  return Object.fromEntries([
    ...Object.entries(madeSecrets),
    ['DECISION_PUBLIC_KEY', publicKeyOf(decisionKey ?? madeSecrets.DECISION_KEY)],
    ['POSTGRES_PASSWORD', makePassword()],
    ...components
      .filter((component) => component !== 'gateway')
      .map((component) => [`POSTGRES_PASSWORD_${component.toUpperCase()}`, makePassword()]),
    ...[...components, 'provision'].map((user) => [natsPasswordVariable(user), makePassword()]),
  ]);
}

/** The lines that a `.env` file lacks: all lines for an empty file, none for a complete one. */
export function listMissingLines(
  envText: string,
  components: readonly string[],
  random: () => Buffer,
): string[] {
  const existingSecrets = new Map(
    [...envText.matchAll(/^(?:export )?([A-Z_]+)=(.*)$/gm)].map(([, name = '', value = '']) => [
      name,
      value.trim().replace(/^(['"])(.*)\1$/, '$2'),
    ]),
  );
  return Object.entries(makeComposeSecrets(components, random, existingSecrets.get('DECISION_KEY')))
    .filter(([name]) => !existingSecrets.has(name))
    .map(([name, value]) => `${name}=${value}\n`);
}
