import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { z } from 'zod';

import { deadlineIn } from '#bus';
import { oauthScope } from '#contracts/oauth-provider';
import { id, name } from '#contracts/vocabulary';
import { AppError } from '#errors';
import { pageHeaders } from '#pages';
import { readCredential } from '../authenticate.ts';
import type { Caller } from '../authenticate.ts';
import type { Deps } from '../deps.ts';
import { connectRefusalPage, connectedPage, gatePage, signInFirst } from './connect-pages.ts';
import { headersOf, statusOf, toAppError } from './error-handler.ts';
import { contextOf } from '../context.ts';
import { countPublic, refuseOtherMethods } from './routes.ts';
import { findCaller } from './sign-in-steps.ts';

const gate = '/connect/:id';
const repair = '/connect/repair/:id';
const callback = '/v1/connections/callback/:provider';
const scopes = z.array(oauthScope).max(100);
const formBytesMax = 1_024;
const queryCharactersMax = 8_000;
const shortMs = 5_000;
const abroadMs = 27_000;

/**
 * Serves the pages between a link and a provider, and back (docs/reference/credentials.md#connections).
 * All of them are for the person of the session cookie; they work without script.
 */
export async function connectPages(app: FastifyInstance, deps: Deps): Promise<void> {
  const { executor } = deps;
  app.addContentTypeParser(
    'application/x-www-form-urlencoded',
    { parseAs: 'string', bodyLimit: formBytesMax },
    (_request, _body, next) => next(null, undefined),
  );
  app.setErrorHandler((thrown: unknown, request, reply) => showError(deps, request, reply, thrown));

  const counted = { onRequest: countPublic(deps) };
  app.get(gate, counted, async (request, reply) => {
    const flowId = idOf(request);
    const caller = await findCaller(deps, request);
    if (caller === null) return reply.redirect(signInFirst(`/connect/${flowId}`), 303);
    const shown = await executor.showConnectionFlow(
      { principal: caller.principal, id: flowId },
      deadlineIn(shortMs),
    );
    const html = gatePage({ ...shown, flowId, person: personOf(caller) });
    return reply.headers(pageHeaders(formTargetsOf(shown.providerOrigin))).send(html);
  });

  app.post(gate, { ...counted, bodyLimit: formBytesMax }, async (request, reply) => {
    const { principal } = await authenticateForm(deps, request);
    const { url } = await executor.beginConnectionFlow(
      { principal, id: idOf(request), context: contextOf(request) },
      deadlineIn(shortMs),
    );
    return reply.redirect(url, 303);
  });

  app.get(repair, counted, async (request, reply) => {
    const connectionId = idOf(request);
    const caller = await findCaller(deps, request);
    if (caller === null) {
      return reply.redirect(signInFirst(request.url), 303);
    }
    const { flowId } = await executor.repairConnection(
      {
        principal: caller.principal,
        id: connectionId,
        scopes: scopesOf(request),
        context: contextOf(request),
      },
      deadlineIn(shortMs),
    );
    return reply.redirect(`/connect/${flowId}`, 303);
  });

  app.get(callback, counted, async (request, reply) => {
    const query = request.url.split('?')[1] ?? '';
    if (query.length > queryCharactersMax) {
      throw new AppError('too_large', 'What the provider sent is too long; begin again.');
    }
    const caller = await findCaller(deps, request);
    if (caller === null) throw notSignedIn();
    const finished = await executor.finishConnectionFlow(
      {
        principal: caller.principal,
        provider: providerOf(request),
        query,
        context: contextOf(request),
      },
      deadlineIn(abroadMs),
    );
    return reply.headers(pageHeaders()).send(connectedPage(finished));
  });

  refuseOtherMethods(app, [
    { method: 'GET', url: gate },
    { method: 'POST', url: gate },
    { method: 'GET', url: repair },
    { method: 'GET', url: callback },
  ]);
}

/** With the cookie alone, and from our own page: somebody else's must not send a person to a provider. */
async function authenticateForm(deps: Deps, { headers }: FastifyRequest): Promise<Caller> {
  const credential = readCredential(deps.site(), {
    method: 'POST',
    headers: { ...headers, authorization: undefined },
  });
  return deps.authenticator.authenticate(credential);
}

/** Browsers apply form-action to every redirect after the form, and providers send people on to hosts of theirs. */
function formTargetsOf(providerOrigin: string): string[] {
  return providerOrigin.startsWith('https:') ? ['https:'] : ['https:', 'http:'];
}

function personOf({ claims }: Caller) {
  return { id: claims.userId, name: claims.chain[0]?.name ?? '' };
}

function idOf(request: FastifyRequest): string {
  const parsed = id.safeParse((request.params as { id?: unknown }).id);
  if (parsed.success) return parsed.data;
  throw new AppError('not_found', 'The link is not complete. Open all of it.');
}

/** Those that a call lacked, when a call's error led here (RFC 6749 §3.3). */
function scopesOf(request: FastifyRequest): string[] {
  const { scope } = request.query as { scope?: unknown };
  if (scope === undefined || scope === '') return [];
  const parsed = scopes.safeParse(typeof scope === 'string' ? scope.split(' ') : scope);
  if (parsed.success) return parsed.data;
  throw new AppError('invalid_request', 'The link is not complete. Open all of it.');
}

function providerOf(request: FastifyRequest): string {
  const parsed = name.safeParse((request.params as { provider?: unknown }).provider);
  if (parsed.success) return parsed.data;
  throw new AppError('not_found', 'There is no such provider.');
}

function notSignedIn(): AppError {
  return new AppError(
    'unauthenticated',
    'You are no longer signed in here. Sign in, and then open the link you began with once more.',
  );
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
    logger.error({ err: error.cause ?? error, requestId: request.id }, 'connecting failed');
  }
  const title = error.code === 'expired' ? 'This link no longer works' : 'Connecting did not work';
  const isAtGate = request.routeOptions.url === gate && error.code === 'unavailable';
  const html = connectRefusalPage({
    title,
    message: error.message,
    againPath: isAtGate ? `/connect/${idOf(request)}` : null,
  });
  reply
    .code(statusOf(error))
    .headers({ ...headersOf(error, false), ...pageHeaders() })
    .send(html);
}
