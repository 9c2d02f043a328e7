import type { FastifyInstance, FastifyRequest } from 'fastify';

import { deadlineIn } from '#bus';
import { name } from '#contracts/vocabulary';
import { AppError } from '#errors';
import type { Deps } from '../deps.ts';
import { parseReturnTo } from '../domain/return-to.ts';
import { readCookie, signInCookie } from '../domain/site.ts';
import { newSessionCookies, visitOf } from '../session-cookie.ts';
import { contextOf } from '../context.ts';
import { refuseOtherMethods } from './routes.ts';
import { countAttempts, readQuery } from './sign-in-steps.ts';

const starts = '/sign-in/with/:key';
const callbacks = '/sign-in/callback/:key';
const flowSeconds = 600;
const queryCharactersMax = 8_000;
const timeoutMs = 20_000;

/**
 * Sending people to an OpenID Connect provider, and taking its answer. Each provider has a callback
 * of its own, so that a code of one can never be taken for another's (RFC 9700 §4.4.2).
 */
export function providerPages(app: FastifyInstance, deps: Deps): void {
  const counted = { onRequest: countAttempts(deps) };
  app.get(starts, counted, async (request, reply) => {
    const { returnTo, org } = readQuery(request);
    const begun = await deps.auth.startProviderSignIn(
      { org, key: keyOf(request), returnTo, browserToken: browserTokenOf(deps, request) },
      deadlineIn(timeoutMs),
    );
    return reply
      .header('set-cookie', signInCookie(deps.site(), begun.browserToken, flowSeconds))
      .redirect(begun.url, 303);
  });

  app.get(callbacks, counted, async (request, reply) => {
    const query = request.url.split('?')[1] ?? '';
    if (query.length > queryCharactersMax) {
      throw new AppError('too_large', 'What the provider sent is too long; begin again.');
    }
    const opened = await deps.auth.finishProviderSignIn(
      {
        key: keyOf(request),
        query,
        browserToken: browserTokenOf(deps, request),
        ...visitOf(deps.site(), request.headers),
        context: contextOf(request),
      },
      deadlineIn(timeoutMs),
    );
    return reply
      .header('set-cookie', newSessionCookies(deps.site(), opened))
      .redirect(parseReturnTo(opened.returnTo) ?? '/', 303);
  });

  refuseOtherMethods(app, [
    { method: 'GET', url: starts },
    { method: 'GET', url: callbacks },
  ]);
}

function keyOf(request: FastifyRequest): string {
  const parsed = name.safeParse((request.params as { key?: unknown }).key);
  if (parsed.success) return parsed.data;
  throw new AppError('not_found', 'There is no such way to sign in.');
}

function browserTokenOf({ site }: Deps, { headers }: FastifyRequest): string | null {
  const token = readCookie(headers.cookie, site().signInCookieName);
  return token !== undefined && token.length > 0 && token.length <= 100 ? token : null;
}
