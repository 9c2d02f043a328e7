import { AsyncLocalStorage } from 'node:async_hooks';

import type { CallContext, Principal } from '#contracts/vocabulary';

/** What the library's callbacks must know about the request they are called for. */
export interface RequestScope {
  /** Who is signed in to the dashboard in this browser; null for requests that need nobody. */
  readonly caller: Principal | null;
  readonly context: CallContext;
  /** The client gives a token back (RFC 7009). */
  readonly revoking: boolean;
}

const scopes = new AsyncLocalStorage<RequestScope>();

export function inRequest<T>(scope: RequestScope, work: () => T): T {
  return scopes.run(scope, work);
}

export function requestScope(): RequestScope {
  const scope = scopes.getStore();
  if (scope === undefined) throw new Error('the authorization server was called around its fence');
  return scope;
}
