import { keyNames } from '#config';
import { publicKeyOf } from '#signing';
import { natsPasswordVariable } from './generated.ts';

/** Every `${NAME:?}` of docker-compose.yml, with a fresh value each. */
export function composeSecrets(
  components: readonly string[],
  random: () => Buffer,
): Record<string, string> {
  // nats.conf reads an unquoted value by its first character: a letter makes it text.
  const password = () => `p${random().toString('hex')}`;
  const made = Object.fromEntries(
    keyNames.map((name) => [name, random().toString('base64url')]),
  ) as Record<(typeof keyNames)[number], string>;
  return Object.fromEntries([
    ...Object.entries(made),
    ['DECISION_PUBLIC_KEY', publicKeyOf(made.DECISION_KEY)],
    ['POSTGRES_PASSWORD', password()],
    ...components
      .filter((component) => component !== 'gateway')
      .map((component) => [`POSTGRES_PASSWORD_${component.toUpperCase()}`, password()]),
    ...[...components, 'provision'].map((user) => [natsPasswordVariable(user), password()]),
  ]);
}
