import http from 'node:http';

import type { Environment } from './settings.ts';

/**
 * The usual proxy variables, except the one for plain http. Plain http is used only for addresses
 * on this machine, and no proxy may see a credential in plain text.
 */
export function proxyVariablesOf(environment: Environment): NodeJS.ProcessEnv {
  const pickVariable = (name: string) => environment[name.toLowerCase()] ?? environment[name];
  return { https_proxy: pickVariable('HTTPS_PROXY'), no_proxy: pickVariable('NO_PROXY') };
}

/**
 * Makes `fetch` use the proxy. Node versions before 24.14 cannot do that; there `fetch` connects
 * directly.
 */
export function useProxy(environment: Environment): void {
  const proxy = proxyVariablesOf(environment);
  if (proxy['https_proxy']) http.setGlobalProxyFromEnv?.(proxy);
}
