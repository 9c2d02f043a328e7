import type { Scope } from '#contracts/vocabulary';
import { cliClientId } from '#contracts/oauth';

/** The scopes of a request that names none. */
const defaultScopes: readonly Scope[] = ['mcp'];
/** The scopes that any client may request: all except `user`, which acts as the user itself. */
export const agentScopes: readonly Scope[] = [
  'mcp',
  'actions:read',
  'actions:call',
  'approvals',
  'agents',
];

const impliedScopes: Partial<Record<Scope, readonly Scope[]>> = {
  'actions:call': ['actions:read'],
  mcp: ['actions:call', 'actions:read', 'approvals', 'agents'],
};

/** Scopes of OpenID Connect that clients often add. They are ignored. */
const ignoredScopes = new Set(['openid', 'profile', 'email', 'offline_access']);

/**
 * The scopes that a request names, in the order of `agentScopes`; undefined when it names a scope
 * that this client may not have. The seeded client may have `user` and no other scope.
 */
export function requestedScopes(
  scope: string | undefined,
  clientId: string,
): readonly Scope[] | undefined {
  const requestedScopes = (scope ?? '')
    .split(' ')
    .filter((each) => each !== '' && !ignoredScopes.has(each));
  if (clientId === cliClientId) {
    return requestedScopes.every((each) => each === 'user') ? ['user'] : undefined;
  }
  if (requestedScopes.length === 0) return defaultScopes;
  const knownScopes = agentScopes.filter((each) => requestedScopes.includes(each));
  return knownScopes.length === new Set(requestedScopes).size ? knownScopes : undefined;
}

/** The scopes with all scopes that they imply (docs/reference/identities.md#scopes). */
export function withImpliedScopes(scopes: readonly Scope[]): Scope[] {
  return [...new Set(scopes.flatMap((scope) => [scope, ...(impliedScopes[scope] ?? [])]))];
}
