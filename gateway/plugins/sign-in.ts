import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';

import { deadlineIn } from '#bus';
import { AppError, errorCodes } from '#errors';
import { messagePage, pageHeaders } from '#pages';
import type { Deps } from '../deps.ts';
import { formTargetsOf, parseReturnTo } from '../domain/return-to.ts';
import { isForeignOrigin, sessionCookie } from '../domain/site.ts';
import { toAppError } from './error-handler.ts';
import { contextOf, refuseOtherMethods } from './routes.ts';
import { confirmPage, linkNeededPage } from './sign-in-pages.ts';

const tokenPattern = /^[A-Za-z0-9_-]{1,200}$/;
const formBytesMax = 16_384;
const cookieSecondsMax = 7 * 24 * 60 * 60;

/**
 * `/sign-in?token=…`: the one-time link, for people. Opening it shows a button; only pressing
 * that uses the link up and opens the session (decisions: Sign-in). `return_to` travels through
 * every step; the browser is sent there in the end.
 */
export async function signInPages(app: FastifyInstance, deps: Deps): Promise<void> {
  app.addContentTypeParser(
    'application/x-www-form-urlencoded',
    { parseAs: 'string', bodyLimit: formBytesMax },
    (_request, body, next) => next(null, new URLSearchParams(body as string)),
  );
  app.setErrorHandler((thrown: unknown, request, reply) => showError(deps, request, reply, thrown));

  app.get('/sign-in', (request, reply) => {
    const { token, return_to: given } = request.query as { token?: unknown; return_to?: unknown };
    const returnTo = parseReturnTo(given);
    if (typeof token !== 'string' || !tokenPattern.test(token)) {
      return showMissing(reply, { returnTo, code: token === undefined ? 200 : 400 });
    }
    return reply.headers(pageHeaders(formTargetsOf(returnTo))).send(confirmPage(token, returnTo));
  });

  app.post('/sign-in', async (request, reply) => {
    const { headers, refusal } = deps.rates.ofSignIn(request.ip);
    void reply.headers(headers);
    if (refusal !== null) throw refusal;
    // Somebody else's page must not sign a person in as somebody else.
    if (isForeignOrigin(deps.site(), request.headers)) {
      throw new AppError('forbidden', 'Open the sign-in link itself and press the button there.');
    }
    const form = request.body instanceof URLSearchParams ? request.body : new URLSearchParams();
    const token = form.get('token');
    const returnTo = parseReturnTo(form.get('return_to'));
    if (token === null || !tokenPattern.test(token)) {
      return showMissing(reply, { returnTo, code: 400 });
    }

    const { sessionToken, expiresAt } = await deps.auth.signIn(
      {
        token,
        userAgent: request.headers['user-agent']?.slice(0, 500) ?? null,
        context: contextOf(request),
      },
      deadlineIn(5_000),
    );
    const seconds = Math.floor((Date.parse(expiresAt) - Date.now()) / 1000);
    const maxAge = Math.max(0, Math.min(seconds, cookieSecondsMax));
    return reply
      .header('set-cookie', sessionCookie(deps.site(), sessionToken, maxAge))
      .redirect(returnTo ?? '/', 303);
  });

  refuseOtherMethods(app, [
    { method: 'GET', url: '/sign-in' },
    { method: 'POST', url: '/sign-in' },
  ]);
}

function showMissing(
  reply: FastifyReply,
  { returnTo, code }: { returnTo: string | null; code: number },
): FastifyReply {
  return reply.code(code).headers(pageHeaders()).send(linkNeededPage(returnTo));
}

/** What went wrong, for a person; the details are in the log under the request id. */
function showError(
  { logger }: Deps,
  request: FastifyRequest,
  reply: FastifyReply,
  thrown: unknown,
): void {
  const error = toAppError(thrown);
  if (error.code === 'internal') {
    logger.error({ err: error.cause ?? error, requestId: request.id }, 'sign-in failed');
  }
  const { retry_after: seconds, edge } = error.details;
  if (typeof seconds === 'number') void reply.header('retry-after', String(seconds));
  const title = error.code === 'expired' ? 'This link no longer works' : 'Signing in did not work';
  const message =
    error.code === 'expired'
      ? 'It was used already or is too old. Ask for a new link, or restart the gateway to print one while nobody has signed in yet.'
      : error.message;
  void reply
    .code(edge === 'method_not_allowed' ? 405 : errorCodes[error.code].httpStatus)
    .headers(pageHeaders())
    .send(messagePage(title, message));
}
