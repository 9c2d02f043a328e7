import type { FastifyInstance } from 'fastify';

import { methodNotAllowed } from './error-handler.ts';

const methods = ['DELETE', 'GET', 'HEAD', 'OPTIONS', 'PATCH', 'POST', 'PUT'] as const;

/**
 * Answers requests at the addresses of these routes that use any other method, with 405 and the
 * allowed methods.
 */
export function refuseOtherMethods(
  app: FastifyInstance,
  routes: readonly { readonly method: string; readonly url: string }[],
  {
    head = true,
    options = true,
  }: {
    readonly head?: boolean;
    /**
     * False if another route, which is not in `routes`, already answers OPTIONS at these addresses.
     */
    readonly options?: boolean;
  } = {},
): void {
  const byUrl = Map.groupBy(routes, ({ url }) => url);
  for (const [url, own] of byUrl) {
    const allowed = own.flatMap(({ method }) =>
      method === 'GET' && head ? ['GET', 'HEAD'] : [method],
    );
    app.route({
      method: methods.filter(
        (method) => !allowed.includes(method) && (options || method !== 'OPTIONS'),
      ),
      url,
      exposeHeadRoute: false,
      onRequest: async (_request, reply) => {
        void reply.header('allow', allowed.join(', '));
        throw methodNotAllowed(allowed);
      },
      handler: async () => undefined,
    });
  }
}
