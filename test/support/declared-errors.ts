import { httpRoutes } from '#contracts/all';
import type { RouteSpec } from '#contracts/http/define';
import { errorsOf } from '#contracts/route-errors';

const routes = Object.values<RouteSpec>(httpRoutes).map((spec) => ({
  method: spec.method,
  path: new RegExp(`^${spec.path.replaceAll(/\{\w+\}/g, '[^/]+')}$`),
  isExact: !spec.path.includes('{'),
  declared: new Set<string>(errorsOf(spec)),
  spec,
}));

/**
 * Throws if a route answers with an error code that docs/openapi.json does not list for this route.
 */
export function checkDeclared(
  { method, url }: { readonly method: string; readonly url: string | URL },
  body: unknown,
): void {
  const { error } = (body ?? {}) as { readonly error?: unknown };
  if (typeof error !== 'string') return;
  const { pathname } = new URL(url);
  const askedMethod = method === 'HEAD' ? 'GET' : method;
  const matching = routes.filter(
    (route) => route.method === askedMethod && route.path.test(pathname),
  );
  const route = matching.find(({ isExact }) => isExact) ?? matching[0];
  if (route === undefined || route.declared.has(error)) return;
  throw new Error(
    `${method} ${route.spec.path} answered ${error}, which neither the endpoints it serves nor its own errors name.`,
  );
}
