import type { CallFailure } from '#contracts/failure';
import type { CompiledAction } from '#contracts/template';
import type { Credential } from '../../request/domain/inject.ts';

interface Sent {
  readonly credentials: readonly Pick<Credential, 'injection'>[];
  /** Undefined for a call by method and path that matches no operation of the template. */
  readonly action?: Pick<CompiledAction, 'security' | 'minimumScopes'> | undefined;
}

/**
 * The id of the connection that lacks the scopes which the provider reported, if an agent of its
 * owner may ask for them. Undefined unless the called action requires each of these scopes: the
 * provider's answer alone must not decide what an agent asks for.
 */
export function lackingConnection(
  { missing_scopes: missing = [] }: Pick<CallFailure, 'missing_scopes'>,
  { credentials, action }: Sent,
): string | undefined {
  if (missing.length === 0) return undefined;
  const namedScopes = new Set(
    action?.security?.flatMap((requirement) => Object.values(requirement).flat()) ??
      action?.minimumScopes,
  );
  if (!missing.every((scope) => namedScopes.has(scope))) return undefined;
  const injections = credentials.map(({ injection }) => injection);
  const isOwn = injections.every(
    ({ kind, credentialName }) => kind === 'connection' && !credentialName.startsWith('org/'),
  );
  const [id, ...others] = new Set(injections.map(({ credentialId }) => credentialId));
  return isOwn && others.length === 0 ? id : undefined;
}
