import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { z } from 'zod';

import { deadlineIn } from '#bus';
import { oauthScope } from '#contracts/oauth-provider';
import { id, name } from '#contracts/vocabulary';
import { AppError } from '#errors';
import { showPage } from '#pages';
import { readCredential } from '../authentication/read-credential.ts';
import type { Caller } from '../authentication/caller.ts';
import type { Deps } from '../deps.ts';
import {
  choicePage,
  renderConnectRefusal,
  renderConnectedPage,
  renderGatePage,
  signInPathOf,
} from './connect-html.ts';
import { headersOf, statusOf, toAppError } from '../http/error-handler.ts';
import { contextOf } from '../records/request-context.ts';
import { countPublicRequest } from '../http/admit-request.ts';
import { refuseOtherMethods } from '../http/refuse-other-methods.ts';
import { rememberReturn, returnToOf, returnToOfState } from './connect-return.ts';
import { withQuery } from './sign-in-html.ts';
import { findCaller } from './sign-in-steps.ts';

const gatePath = '/connect/:id';
const repairPath = '/connect/repair/:id';
const callbackPath = '/v1/connections/callback/:provider';
const choicePath = '/connect/choose/:provider';
const scopesSchema = z.array(oauthScope).max(100);
const formBytesMax = 1_024;
const queryCharactersMax = 8_000;
const componentMsMax = 5_000;
const providerMsMax = 27_000;

/**
 * Serves the pages on which a person connects an account at a provider
 * (docs/reference/credentials.md#connections). They need a session cookie and work without
 * JavaScript.
 */
export async function serveConnectPages(app: FastifyInstance, deps: Deps): Promise<void> {
  const { executor } = deps;
  app.addContentTypeParser(
    'application/x-www-form-urlencoded',
    { parseAs: 'string', bodyLimit: formBytesMax },
    (_request, body, next) => next(null, Object.fromEntries(new URLSearchParams(String(body)))),
  );
  app.setErrorHandler((error: unknown, request, reply) => showError(deps, request, reply, error));

  const countedRoute = { onRequest: countPublicRequest(deps) };
  app.get(gatePath, countedRoute, async (request, reply) => {
    const flowId = idInPath(request);
    const returnTo = returnToOf(request);
    const caller = await findCaller(deps, request);
    if (caller === null) return reply.redirect(signInPathOf(gatePathOf(flowId, returnTo)), 303);
    const flow = await executor.showConnectionFlow(
      { principal: caller.principal, id: flowId },
      deadlineIn(componentMsMax),
    );
    const formAction = gatePathOf(flowId, returnTo);
    const page = renderGatePage({ ...flow, formAction, person: personOf(caller) });
    return showPage(reply, page, formTargetsOf(flow.providerOrigin));
  });

  app.post(gatePath, { ...countedRoute, bodyLimit: formBytesMax }, async (request, reply) => {
    const { principal } = await authenticateForm(deps, request);
    const { url } = await executor.beginConnectionFlow(
      { principal, id: idInPath(request), context: contextOf(request) },
      deadlineIn(componentMsMax),
    );
    return rememberReturn(deps, request, { reply, url }).redirect(url, 303);
  });

  app.get(repairPath, countedRoute, async (request, reply) => {
    const connectionId = idInPath(request);
    const caller = await findCaller(deps, request);
    if (caller === null) {
      return reply.redirect(signInPathOf(request.url), 303);
    }
    const { flowId } = await executor.repairConnection(
      {
        principal: caller.principal,
        id: connectionId,
        scopes: scopesOf(request),
        context: contextOf(request),
      },
      deadlineIn(componentMsMax),
    );
    return reply.redirect(gatePathOf(flowId, returnToOf(request)), 303);
  });

  app.get(callbackPath, countedRoute, (request, reply) => finishConnection(deps, request, reply));

  const choiceRoute = { ...countedRoute, bodyLimit: formBytesMax };
  app.post(choicePath, choiceRoute, (request, reply) => finishChoice(deps, request, reply));

  refuseOtherMethods(app, [
    { method: 'GET', url: gatePath },
    { method: 'POST', url: gatePath },
    { method: 'GET', url: repairPath },
    { method: 'GET', url: callbackPath },
    { method: 'POST', url: choicePath },
  ]);
}

/**
 * Passes what the provider sent to the executor, and sends the browser back to the page that the
 * person came from.
 */
async function finishConnection(
  deps: Deps,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<FastifyReply> {
  const query = request.url.split('?')[1] ?? '';
  if (query.length > queryCharactersMax) {
    throw new AppError('too_large', 'What the provider sent is too long; begin again.');
  }
  const caller = await findCaller(deps, request);
  if (caller === null) throw notSignedInError();
  const finishedFlow = await deps.executor.finishConnectionFlow(
    {
      principal: caller.principal,
      provider: providerOf(request),
      query,
      context: contextOf(request),
      canChoose: true,
    },
    deadlineIn(providerMsMax),
  );
  const { state } = request.query as { state?: unknown };
  return showFinished(deps, request, { reply, finishedFlow, state: textOf(state) });
}

/** Passes the site or company that the person selected to the executor. */
async function finishChoice(
  deps: Deps,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<FastifyReply> {
  const { principal } = await authenticateForm(deps, request);
  const form = request.body as { state?: unknown; value?: unknown } | undefined;
  const [state, chosen] = [textOf(form?.state), textOf(form?.value)];
  const finishedFlow = await deps.executor.finishConnectionFlow(
    {
      principal,
      provider: providerOf(request),
      query: new URLSearchParams({ state }).toString(),
      context: contextOf(request),
      chosen: chosen.slice(0, 128),
    },
    deadlineIn(providerMsMax),
  );
  return showFinished(deps, request, { reply, finishedFlow, state });
}

type FinishedFlow = Awaited<ReturnType<Deps['executor']['finishConnectionFlow']>>;

function showFinished(
  deps: Deps,
  request: FastifyRequest,
  {
    reply,
    finishedFlow,
    state,
  }: { reply: FastifyReply; finishedFlow: FinishedFlow; state: string },
): FastifyReply {
  const { choices, ...finished } = finishedFlow;
  if (choices !== undefined) {
    const formAction = choicePath.replace(':provider', encodeURIComponent(providerOf(request)));
    return showPage(reply, choicePage({ ...finished, choices, formAction, state }));
  }
  const returnTo = returnToOfState(deps, request, state);
  if (returnTo !== null) return reply.redirect(returnTo, 303);
  return showPage(reply, renderConnectedPage(finished));
}

function textOf(value: unknown): string {
  return typeof value === 'string' ? value : '';
}

/**
 * Accepts only a session cookie, and only from a page of the gateway itself. Otherwise another site
 * could send a person to a provider.
 */
async function authenticateForm(deps: Deps, { headers }: FastifyRequest): Promise<Caller> {
  const credential = readCredential(deps.site(), {
    method: 'POST',
    headers: { ...headers, authorization: undefined },
  });
  return deps.authenticator.authenticate(credential);
}

/**
 * Browsers apply form-action to every redirect after a form. Because some providers redirect to
 * further hosts, any host is allowed.
 */
function formTargetsOf(providerOrigin: string): string[] {
  return providerOrigin.startsWith('https:') ? ['https:'] : ['https:', 'http:'];
}

function personOf({ claims }: Caller) {
  return { id: claims.userId, name: claims.chain[0]?.name ?? '' };
}

function idInPath(request: FastifyRequest): string {
  const parseResult = id.safeParse((request.params as { id?: unknown }).id);
  if (parseResult.success) return parseResult.data;
  throw new AppError('not_found', 'The link is not complete. Open all of it.');
}

/**
 * Returns the additional scopes to request, which the link of a failed call contains (RFC 6749
 * §3.3).
 */
function scopesOf(request: FastifyRequest): string[] {
  const { scope } = request.query as { scope?: unknown };
  if (scope === undefined || scope === '') return [];
  const parseResult = scopesSchema.safeParse(typeof scope === 'string' ? scope.split(' ') : scope);
  if (parseResult.success) return parseResult.data;
  throw new AppError('invalid_request', 'The link is not complete. Open all of it.');
}

function providerOf(request: FastifyRequest): string {
  const parseResult = name.safeParse((request.params as { provider?: unknown }).provider);
  if (parseResult.success) return parseResult.data;
  throw new AppError('not_found', 'There is no such provider.');
}

function gatePathOf(flowId: string, returnTo: string | null): string {
  return withQuery(`/connect/${encodeURIComponent(flowId)}`, { return_to: returnTo });
}

/** Returns the page on which the person can try again; null if trying again cannot help. */
function againPathOf(deps: Deps, request: FastifyRequest, error: AppError): string | null {
  const { url } = request.routeOptions;
  if (url === callbackPath || url === choicePath) {
    const fields = (url === callbackPath ? request.query : request.body) as
      | { state?: unknown }
      | undefined;
    return returnToOfState(deps, request, textOf(fields?.state));
  }
  if (url !== gatePath) return null;
  if (error.code === 'unavailable') return gatePathOf(idInPath(request), returnToOf(request));
  return error.code === 'expired' ? pathAfterEnd(request, error) : null;
}

/**
 * Returns the page to go to after a link has ended: the page that the person came from or, for the
 * owner of the connection, the page that creates a new link.
 */
function pathAfterEnd(request: FastifyRequest, { details }: AppError): string | null {
  const { reason, connection_id: connectionId, missing } = details;
  const returnTo = returnToOf(request);
  if (reason === 'connected') return returnTo;
  if (reason !== 'not_granted' || typeof connectionId !== 'string') return null;
  const scopes = scopesSchema.safeParse(missing).data ?? [];
  return withQuery(repairPath.replace(':id', encodeURIComponent(connectionId)), {
    scope: scopes.length === 0 ? null : scopes.join(' '),
    return_to: returnTo,
  });
}

function notSignedInError(): AppError {
  return new AppError(
    'unauthenticated',
    'You are no longer signed in here. Sign in, and then open the link you began with once more.',
  );
}

function wordsOf({ code, details: { reason } }: AppError) {
  if (code !== 'expired') return { title: 'Connecting did not work', againLabel: 'Try again' };
  return reason === 'connected'
    ? { title: 'The account is connected already', againLabel: 'Go back', isConnected: true }
    : { title: 'This link no longer works', againLabel: 'Begin again' };
}

/** Shows the error to a person. Details of an internal error are logged under the request id. */
function showError(
  deps: Deps,
  request: FastifyRequest,
  reply: FastifyReply,
  thrown: unknown,
): void {
  const error = toAppError(thrown);
  if (error.code === 'internal') {
    deps.logger.error({ err: error.cause ?? error, requestId: request.id }, 'connecting failed');
  }
  const page = renderConnectRefusal({
    ...wordsOf(error),
    message: error.message,
    againPath: againPathOf(deps, request, error),
  });
  showPage(reply.code(statusOf(error)).headers(headersOf(error, false)), page);
}
