import type { FastifyInstance } from 'fastify';

import { deadlineIn } from '#bus';
import type { Deps } from '../deps.ts';
import { refuseOtherMethods } from './routes.ts';

const path = '/.well-known/action-gateway-keys';
/** How long an answer is given again: anybody may ask. */
const keptMs = 10_000;

/** Serves the public keys by which decisions can be checked, with when each was in use. */
export async function publicKeys(
  app: FastifyInstance,
  { auth }: Pick<Deps, 'auth'>,
): Promise<void> {
  let kept: { readonly at: number; readonly answer: Promise<unknown> } | undefined;
  app.get(path, async (_request, reply) => {
    if (kept === undefined || Date.now() - kept.at > keptMs) {
      const answer = auth.listPublicKeys({}, deadlineIn(2_000));
      kept = { at: Date.now(), answer };
      answer.catch(() => (kept = undefined));
    }
    return reply.headers({ 'cache-control': 'public, max-age=60' }).send(await kept.answer);
  });
  refuseOtherMethods(app, [{ method: 'GET', url: path }]);
}
