import type { Access } from './http/define.ts';
import type { Principal, Scope } from './vocabulary.ts';

/** For each scope, the scopes that it includes (docs/reference/identities.md#scopes). */
const impliedScopes: Partial<Record<Scope, readonly Scope[]>> = {
  'actions:call': ['actions:read'],
  mcp: ['actions:call', 'actions:read', 'approvals', 'agents'],
  user: ['actions:call', 'actions:read', 'approvals', 'agents'],
};

/** Whether a caller's credential may use a route. A dashboard session may use all routes. */
export function mayUseRoute(principal: Principal, access: Access): boolean {
  if (access === 'public' || access === 'any') return true;
  if (principal.credential.kind === 'session') return true;
  return principal.scopes.some(
    (scope) => scope === access || impliedScopes[scope]?.includes(access),
  );
}
