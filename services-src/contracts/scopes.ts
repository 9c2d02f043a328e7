import type { Access } from './http/define.ts';
import type { Principal, Scope } from './vocabulary.ts';

/** What else a scope allows (docs/reference/identities.md#scopes). */
const implied: Partial<Record<Scope, readonly Scope[]>> = {
  'actions:call': ['actions:read'],
  mcp: ['actions:call', 'actions:read', 'approvals', 'agents'],
  user: ['actions:call', 'actions:read', 'approvals', 'agents'],
};

/** Whether a caller's credential opens a route. A dashboard session opens all of them. */
export function mayUse(claims: Principal, access: Access): boolean {
  if (access === 'public' || access === 'any') return true;
  if (claims.credential.kind === 'session') return true;
  return claims.scopes.some((scope) => scope === access || implied[scope]?.includes(access));
}
