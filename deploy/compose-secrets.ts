import { keyNames } from '#config';
import { publicKeyOf } from '#signing';
import { natsPasswordVariable } from './generated.ts';

/**
 * Every `${NAME:?}` of docker-compose.yml, with a fresh value each. The public key is that of
 * `decisionKey` where an installation has one already.
 */
export function composeSecrets(
  components: readonly string[],
  random: () => Buffer,
  decisionKey?: string,
): Record<string, string> {
  // nats.conf reads an unquoted value by its first character: a letter makes it text.
  const password = () => `p${random().toString('hex')}`;
  const made = Object.fromEntries(
    keyNames.map((name) => [name, random().toString('base64url')]),
  ) as Record<(typeof keyNames)[number], string>;
  return Object.fromEntries([
    ...Object.entries(made),
    ['DECISION_PUBLIC_KEY', publicKeyOf(decisionKey ?? made.DECISION_KEY)],
    ['POSTGRES_PASSWORD', password()],
    ...components
      .filter((component) => component !== 'gateway')
      .map((component) => [`POSTGRES_PASSWORD_${component.toUpperCase()}`, password()]),
    ...[...components, 'provision'].map((user) => [natsPasswordVariable(user), password()]),
  ]);
}

/** The lines that a `.env` lacks: all of them for an empty text, none for a complete one. */
export function missingLines(
  env: string,
  components: readonly string[],
  random: () => Buffer,
): string[] {
  const present = new Map(
    [...env.matchAll(/^(?:export )?([A-Z_]+)=(.*)$/gm)].map(([, name = '', value = '']) => [
      name,
      value.trim().replace(/^(['"])(.*)\1$/, '$2'),
    ]),
  );
  return Object.entries(composeSecrets(components, random, present.get('DECISION_KEY')))
    .filter(([name]) => !present.has(name))
    .map(([name, value]) => `${name}=${value}\n`);
}
