import type { FastifyInstance } from 'fastify';

import { createOpenapiDocument } from '../openapi.ts';
import { refuseOtherMethods } from './routes.ts';

const path = '/v1/openapi.json';

/** Serves the document that describes every route; made on the first request. */
export async function openapiRoute(app: FastifyInstance): Promise<void> {
  let text: string | undefined;
  app.get(path, (_request, reply) => {
    text ??= JSON.stringify(createOpenapiDocument());
    return reply
      .headers({
        'content-type': 'application/json; charset=utf-8',
        'cache-control': 'public, max-age=300',
      })
      .send(text);
  });
  refuseOtherMethods(app, [{ method: 'GET', url: path }]);
}
