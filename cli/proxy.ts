import http from 'node:http';

import type { Environment } from './settings.ts';

/**
 * The usual variables that name a proxy, but for plain http: that is for this machine alone, and
 * a credential in the open must not travel to a proxy either.
 */
export function proxyFor(environment: Environment): NodeJS.ProcessEnv {
  const pick = (name: string) => environment[name.toLowerCase()] ?? environment[name];
  return { https_proxy: pick('HTTPS_PROXY'), no_proxy: pick('NO_PROXY') };
}

/** For `fetch`. Node has it since 24.14; without it, `fetch` goes directly. */
export function useProxy(environment: Environment): void {
  const proxy = proxyFor(environment);
  if (proxy['https_proxy']) http.setGlobalProxyFromEnv?.(proxy);
}
