import type { FastifyInstance } from 'fastify';

import { deadlineIn } from '#bus';
import type { Deps } from '../deps.ts';
import { refuseOtherMethods } from './refuse-other-methods.ts';

const publicKeysPath = '/.well-known/action-gateway-keys';
/** The keys are cached for this long, because anybody may request them as often as they like. */
const keysCachedMs = 10_000;

/** Serves the public keys that verify decisions, each with the time during which it was in use. */
export async function servePublicKeys(
  app: FastifyInstance,
  { auth }: Pick<Deps, 'auth'>,
): Promise<void> {
  let cachedKeys: { readonly at: number; readonly answer: Promise<unknown> } | undefined;
  app.get(publicKeysPath, async (_request, reply) => {
    if (cachedKeys === undefined || Date.now() - cachedKeys.at > keysCachedMs) {
      const answer = auth.listPublicKeys({}, deadlineIn(2_000));
      cachedKeys = { at: Date.now(), answer };
      answer.catch(() => (cachedKeys = undefined));
    }
    return reply.headers({ 'cache-control': 'public, max-age=60' }).send(await cachedKeys.answer);
  });
  refuseOtherMethods(app, [{ method: 'GET', url: publicKeysPath }]);
}
