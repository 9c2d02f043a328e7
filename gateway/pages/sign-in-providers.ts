import type { FastifyInstance, FastifyRequest } from 'fastify';

import { deadlineIn } from '#bus';
import { name } from '#contracts/vocabulary';
import { AppError } from '#errors';
import type { Deps } from '../deps.ts';
import { parseReturnTo } from './domain/return-to.ts';
import { readCookie, buildSignInCookie } from '../authentication/domain/site.ts';
import { buildNewSessionCookies, visitOf } from '../authentication/session-cookie.ts';
import { contextOf } from '../records/request-context.ts';
import { refuseOtherMethods } from '../http/refuse-other-methods.ts';
import { createAttemptCounter, readQuery } from './sign-in-steps.ts';
import { forgetWantedPageCookie } from './wanted-page.ts';

const startPath = '/sign-in/with/:key';
const callbackPath = '/sign-in/callback/:key';
const flowSeconds = 600;
const queryCharactersMax = 8_000;
const timeoutMs = 20_000;

/**
 * Serves sign-in through OpenID Connect providers. Each provider has its own callback, so that a
 * code from one cannot be used at another (RFC 9700 §4.4.2).
 */
export function serveProviderPages(app: FastifyInstance, deps: Deps): void {
  const countedRoute = { onRequest: createAttemptCounter(deps) };
  app.get(startPath, countedRoute, async (request, reply) => {
    const { returnTo, org } = readQuery(request);
    const startedSignIn = await deps.auth.startProviderSignIn(
      { org, key: keyOf(request), returnTo, browserToken: browserTokenOf(deps, request) },
      deadlineIn(timeoutMs),
    );
    return reply
      .header('set-cookie', buildSignInCookie(deps.site(), startedSignIn.browserToken, flowSeconds))
      .redirect(startedSignIn.url, 303);
  });

  app.get(callbackPath, countedRoute, async (request, reply) => {
    const query = request.url.split('?')[1] ?? '';
    if (query.length > queryCharactersMax) {
      throw new AppError('too_large', 'What the provider sent is too long; begin again.');
    }
    const openedSession = await deps.auth.finishProviderSignIn(
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
      .header('set-cookie', [
        ...buildNewSessionCookies(deps.site(), openedSession),
        forgetWantedPageCookie(deps),
      ])
      .redirect(parseReturnTo(openedSession.returnTo) ?? '/', 303);
  });

  refuseOtherMethods(app, [
    { method: 'GET', url: startPath },
    { method: 'GET', url: callbackPath },
  ]);
}

function keyOf(request: FastifyRequest): string {
  const parseResult = name.safeParse((request.params as { key?: unknown }).key);
  if (parseResult.success) return parseResult.data;
  throw new AppError('not_found', 'There is no such way to sign in.');
}

function browserTokenOf({ site }: Deps, { headers }: FastifyRequest): string | null {
  const token = readCookie(headers.cookie, site().signInCookieName);
  return token !== undefined && token.length > 0 && token.length <= 100 ? token : null;
}
