import { AsyncLocalStorage } from 'node:async_hooks';

import type { CallContext, Principal } from '#contracts/vocabulary';

/** What the callbacks of the library must know about the current request. */
export interface RequestScope {
  /**
   * The user who is signed in to the dashboard in this browser; null for requests without a user.
   */
  readonly caller: Principal | null;
  readonly context: CallContext;
  /** Whether this is a revocation request (RFC 7009). */
  readonly revoking: boolean;
}

const scopeStorage = new AsyncLocalStorage<RequestScope>();

/** Runs `work`. While it runs, `requestScope()` returns this scope. */
export function runInRequestScope<T>(scope: RequestScope, work: () => T): T {
  return scopeStorage.run(scope, work);
}

export function getRequestScope(): RequestScope {
  const scope = scopeStorage.getStore();
  if (scope === undefined) throw new Error('the authorization server was called around its fence');
  return scope;
}
