import type { Scope } from '#contracts/vocabulary';
import { cliClientId } from '#contracts/oauth';

/** What a client gets that names no scope. */
const defaultScopes: readonly Scope[] = ['mcp'];
/** What any client may ask for: everything but to act as the user. */
export const agentScopes: readonly Scope[] = [
  'mcp',
  'actions:read',
  'actions:call',
  'approvals',
  'agents',
];

const implied: Partial<Record<Scope, readonly Scope[]>> = {
  'actions:call': ['actions:read'],
  mcp: ['actions:call', 'actions:read', 'approvals', 'agents'],
};

/** Scopes of OpenID Connect that clients add by habit. They ask for nothing of ours. */
const meaningless = new Set(['openid', 'profile', 'email', 'offline_access']);

/**
 * The scopes a request asks for, in the order of our list; undefined when it names one that this
 * client cannot have. `user` belongs to the seeded client, and that client gets nothing else.
 */
export function requestedScopes(
  scope: string | undefined,
  clientId: string,
): readonly Scope[] | undefined {
  const named = (scope ?? '').split(' ').filter((each) => each !== '' && !meaningless.has(each));
  if (clientId === cliClientId) {
    return named.every((each) => each === 'user') ? ['user'] : undefined;
  }
  if (named.length === 0) return defaultScopes;
  const known = agentScopes.filter((each) => named.includes(each));
  return known.length === new Set(named).size ? known : undefined;
}

/** The scopes with everything they imply (docs/reference/identities.md#scopes). */
export function withImplied(scopes: readonly Scope[]): Scope[] {
  return [...new Set(scopes.flatMap((scope) => [scope, ...(implied[scope] ?? [])]))];
}
