import type { CallFailure } from '#contracts/failure';
import type { CompiledTemplate } from '#contracts/template';
import type { Credential } from '../../request/domain/inject.ts';

interface Sent {
  readonly credentials: readonly Pick<Credential, 'injection'>[];
  readonly template?: Pick<CompiledTemplate, 'key' | 'tier' | 'auth'> | undefined;
}

/**
 * The secret that the provider refused, with the fields for requesting a new value. Undefined when
 * the call carried other credentials too, because the provider does not say which one it refused.
 */
export function findRefusedSecret(
  { kind }: Pick<CallFailure, 'kind'>,
  { credentials, template }: Sent,
): CallFailure['secret'] {
  if (kind !== 'credential_refused') return undefined;
  const [injection, ...others] = credentials.map((each) => each.injection);
  if (injection?.kind !== 'secret' || others.length > 0) return undefined;
  const { credentialName: name, derivation } = injection;
  const hasParts = derivation !== undefined && template !== undefined;
  return hasParts && namesParts(template, name) ? { name, template: template.key } : { name };
}

/**
 * Whether a request for a new value may refer to this template: the request would be for this
 * secret, and would not be refused.
 */
function namesParts({ tier, auth }: NonNullable<Sent['template']>, name: string): boolean {
  if (tier === 'user' && name.startsWith('org/')) return false;
  const keys = auth.filter((method) => method.type === 'apiKey');
  return (
    keys.length === 1 ||
    keys.some(({ defaultSecretName }) => defaultSecretName === name.replace(/^org\//, ''))
  );
}
