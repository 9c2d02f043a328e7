import type { FastifyInstance } from 'fastify';

import { createOpenapiDocument } from './openapi.ts';
import { refuseOtherMethods } from './refuse-other-methods.ts';

const openapiPath = '/v1/openapi.json';

/** Serves the OpenAPI document, which is built at the first request. */
export async function serveOpenapi(app: FastifyInstance): Promise<void> {
  let text: string | undefined;
  app.get(openapiPath, (_request, reply) => {
    text ??= JSON.stringify(createOpenapiDocument());
    return reply
      .headers({
        'content-type': 'application/json; charset=utf-8',
        'cache-control': 'public, max-age=300',
      })
      .send(text);
  });
  refuseOtherMethods(app, [{ method: 'GET', url: openapiPath }]);
}
