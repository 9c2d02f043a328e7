import type { CallTarget, Injection } from '#contracts/permit';
import type { CompiledTemplate } from '#contracts/template';
import { readParts, unfitSecretError } from '../derived-credentials/domain/secret-parts.ts';

interface PlainScheme {
  readonly injection: Injection;
  readonly target: CallTarget;
  /** The template of the service; undefined for a call by full URL. */
  readonly template: CompiledTemplate | undefined;
}

/**
 * Throws when a secret of several parts, such as the private key of an app, would be sent whole as
 * the plain value of a service's security scheme. Such a secret was chosen for the wrong service. A
 * call that names a secret itself decides how the secret is sent, so it may send one whole.
 */
export function requirePlainValue(value: string, { injection, ...call }: PlainScheme): void {
  if (injection.kind !== 'secret' || injection.derivation !== undefined) return;
  if (!isOfService(injection, call) || !hasParts(value)) return;
  throw unfitSecretError(
    injection.credentialName,
    'has several parts, and the service takes a plain value. Nothing was sent. Its owner connects the service with another secret',
  );
}

function isOfService(
  { in: place, key }: Injection,
  { target, template }: Omit<PlainScheme, 'injection'>,
): boolean {
  if (target.kind !== 'verb') return target.kind === 'action';
  const name = key.toLowerCase();
  // The place of the service's own credential (header or query parameter) is closed to secrets that
  // a call names. So a credential in that place is the service's.
  return (template?.auth ?? []).some(
    (method) =>
      method.type === 'apiKey' && method.in === place && method.name.toLowerCase() === name,
  );
}

function hasParts(value: string): boolean {
  return value.trimStart().startsWith('{') && readParts(value, { name: '', required: [] }).size > 0;
}
