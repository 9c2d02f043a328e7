import type { Scope } from '#contracts/vocabulary';
import { cliClientId } from '#contracts/oauth';

/** The scopes of a request that does not name any. */
const defaultScopes: readonly Scope[] = ['mcp'];
/**
 * The scopes that any client may request: all except `user`, with which a client acts as the user
 * itself.
 */
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

/** Scopes of OpenID Connect that clients often add to their request. */
const openidScopes = new Set(['openid', 'profile', 'email', 'offline_access']);

/** Whether the gateway has this scope, for any client. */
export function isKnownScope(name: string): boolean {
  return name === 'user' || agentScopes.some((scope) => scope === name);
}

/**
 * The scopes that a request names, in the order of `agentScopes`. Scopes that the gateway does not
 * know are ignored (RFC 6749 §3.3), and the answer says what was granted. Undefined when no scope
 * is left, or when the request names a scope that this client may not have. The seeded client may
 * have the scope `user` only.
 */
export function requestedScopes(
  scope: string | undefined,
  clientId: string,
): readonly Scope[] | undefined {
  const namedScopes = (scope ?? '')
    .split(' ')
    .filter((each) => each !== '' && !openidScopes.has(each));
  const knownScopes = namedScopes.filter(isKnownScope);
  if (namedScopes.length > 0 && knownScopes.length === 0) return undefined;
  if (clientId === cliClientId) {
    return knownScopes.every((each) => each === 'user') ? ['user'] : undefined;
  }
  if (knownScopes.includes('user')) return undefined;
  if (knownScopes.length === 0) return defaultScopes;
  return agentScopes.filter((each) => knownScopes.includes(each));
}

/** The given scopes, and all scopes that they imply (docs/reference/identities.md#scopes). */
export function withImpliedScopes(scopes: readonly Scope[]): Scope[] {
  return [...new Set(scopes.flatMap((scope) => [scope, ...(impliedScopes[scope] ?? [])]))];
}
