import http from 'node:http';

import { misuse } from './refusal.ts';
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
 * Makes `fetch` use the proxy for https, and no proxy for plain http, whatever `NODE_USE_ENV_PROXY`
 * and `HTTP_PROXY` say. Node versions before 24.14 cannot do that; there `fetch` connects directly.
 *
 * @throws Refusal if such a version was started with its own proxy support switched on.
 */
export function useProxy(environment: Environment): void {
  if (http.setGlobalProxyFromEnv === undefined) {
    const isNodeUsingProxy = environment['NODE_USE_ENV_PROXY'] === '1';
    if (!isNodeUsingProxy) return;
    throw misuse('NODE_USE_ENV_PROXY needs Node 24.14 here: unset it, or install that version.');
  }
  const proxy = proxyVariablesOf(environment);
  // Node reads HTTP_PROXY from the process if it gets no proxy for plain http.
  const saved = { http_proxy: process.env['http_proxy'], HTTP_PROXY: process.env['HTTP_PROXY'] };
  for (const name of Object.keys(saved)) delete process.env[name];
  try {
    // Without a proxy, the dispatcher that Node may have made from the environment is replaced by
    // one that uses its proxy for no host.
    const noProxy = { https_proxy: 'http://127.0.0.1:9', no_proxy: '*' };
    http.setGlobalProxyFromEnv(proxy['https_proxy'] ? proxy : noProxy);
  } catch {
    throw misuse('HTTPS_PROXY is not a URL: write it like http://proxy.example:3128.');
  } finally {
    for (const [name, value] of Object.entries(saved)) {
      if (value !== undefined) process.env[name] = value;
    }
  }
}
