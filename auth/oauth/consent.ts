import { createHmac, timingSafeEqual } from 'node:crypto';

import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';

import { cliClientId } from '#contracts/oauth';
import type { Principal } from '#contracts/vocabulary';
import { name as nameSchema } from '#contracts/vocabulary';
import { AppError, errorCodes } from '#errors';
import { messagePage, pageHeaders } from '#pages';
import { canCreateAgent } from '../domain/access.ts';
import { agentNameFrom, uniqueName } from '../domain/agent-name.ts';
import { hashOf } from '../domain/checked-token.ts';
import type { OauthClient } from '../domain/oauth-client.ts';
import { formTargetOf } from '../domain/redirect-uri.ts';
import { listOwnAgents } from '../repository/oauth-agents.ts';
import { findInteraction } from '../repository/oauth-interactions.ts';
import { allowClient, denyClient } from '../usecases/decide-consent.ts';
import type { ConsentChoice } from '../usecases/decide-consent.ts';
import type { AuthorizationRequest } from '../usecases/issue-oauth-grant.ts';
import { callerOf, contextOf, sessionTokenOf } from './callers.ts';
import { findClient } from './clients.ts';
import { consentPage } from './consent-page.ts';
import type { OauthDeps } from './deps.ts';
import { paths } from './paths.ts';
import { describeRequest } from './provider.ts';

/** `GET|POST /oauth/consent?id=…`: a person decides what a client may do, and as whom. */
export async function consentPages(app: FastifyInstance, deps: OauthDeps): Promise<void> {
  app.setErrorHandler((thrown: unknown, request, reply) => showError(deps, request, reply, thrown));

  app.get(paths.consent, async (request, reply) => {
    const waiting = await findWaiting(deps, request);
    return show(deps, reply, waiting);
  });

  app.post(paths.consent, async (request, reply) => {
    const waiting = await findWaiting(deps, request);
    const form = request.body instanceof URLSearchParams ? request.body : new URLSearchParams();
    checkOrigin(request, deps.baseUrl);
    checkFormToken(form, waiting.formToken);
    const { caller, interaction } = waiting;
    if (form.get('decision') !== 'allow') {
      await denyClient(deps, { caller, interaction });
      return reply.redirect(waiting.continueAt, 303);
    }
    const ask = (problem: string) =>
      show(deps, reply.code(400), waiting, { problem, name: form.get('name') });
    const choice = readChoice(form, waiting);
    if ('problem' in choice) return ask(choice.problem);
    try {
      await allowClient(deps, {
        caller,
        context: contextOf(request),
        request: waiting.request,
        interaction,
        choice,
      });
    } catch (thrown) {
      const isCorrectable = thrown instanceof AppError && choice.actAs !== 'user';
      if (!isCorrectable || (await hasEnded(deps, waiting))) throw thrown;
      return ask(thrown.message);
    }
    return reply.redirect(waiting.continueAt, 303);
  });
}

/** An authorization that waits for the person in front of this browser. */
export interface Waiting {
  readonly id: string;
  readonly interaction: Buffer;
  readonly caller: Principal;
  readonly client: OauthClient;
  readonly request: AuthorizationRequest;
  readonly redirectUri: string;
  readonly formToken: string;
  readonly continueAt: string;
}

async function findWaiting(deps: OauthDeps, request: FastifyRequest): Promise<Waiting> {
  const { id } = request.query as { id?: unknown };
  const sessionToken = sessionTokenOf(request, deps);
  const caller = await callerOf(deps, request);
  if (typeof id !== 'string' || caller === null || sessionToken === undefined) throw ended();
  const interaction = hashOf(id);
  const { orgId } = caller;
  const key = { orgId, sessionId: caller.credential.id, hash: interaction };
  const payload = await findInteraction(deps.db, key);
  const parameters = payload?.['params'] as Record<string, string> | undefined;
  if (parameters === undefined || payload?.['result'] !== undefined) throw ended();
  const client = await findClient(deps, parameters['client_id'] ?? '', { mayFetch: true });
  if (client === undefined) throw ended();
  return {
    id,
    interaction,
    caller,
    client,
    request: describeRequest(deps, {
      clientId: client.id,
      clientName: client.name,
      scope: parameters['scope'],
    }),
    redirectUri: parameters['redirect_uri'] ?? '',
    // Only a page that was shown to this session can hold it.
    formToken: createHmac('sha256', sessionToken).update(`consent ${id}`).digest('base64url'),
    continueAt: `${paths.authorize}/${encodeURIComponent(id)}`,
  };
}

async function hasEnded({ db }: OauthDeps, { caller, interaction }: Waiting): Promise<boolean> {
  const key = { orgId: caller.orgId, sessionId: caller.credential.id, hash: interaction };
  const payload = await findInteraction(db, key);
  return payload === undefined || payload['result'] !== undefined;
}

async function show(
  { db }: OauthDeps,
  reply: FastifyReply,
  waiting: Waiting,
  again: { problem: string | null; name: string | null } = { problem: null, name: null },
): Promise<FastifyReply> {
  const { caller, client, redirectUri } = waiting;
  const isAsUser = client.id === cliClientId;
  const { orgId, userId } = caller;
  const agents = isAsUser ? [] : await listOwnAgents(db, { orgId, userId });
  const taken = new Set(agents.map((agent) => agent.name));
  const suggestedName = again.name ?? uniqueName(agentNameFrom(client.name), taken);
  return reply.headers(pageHeaders([formTargetOf(redirectUri)])).send(
    consentPage({
      ...waiting,
      agents: agents.filter((agent) => agent.isLive),
      suggestedName: canCreateAgent(caller) ? suggestedName : null,
      isAsUser,
      problem: again.problem,
    }),
  );
}

function readChoice(
  form: URLSearchParams,
  { client }: Waiting,
): ConsentChoice | { problem: string } {
  if (client.id === cliClientId) return { actAs: 'user' };
  const agent = form.get('agent') ?? '';
  if (agent !== 'new') {
    const isId = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/.test(agent);
    return isId
      ? { actAs: 'agent', agentId: agent }
      : { problem: 'Choose one of your agents, or make a new one.' };
  }
  const parsed = nameSchema.safeParse(form.get('name') ?? '');
  if (parsed.success) return { actAs: 'new_agent', name: parsed.data };
  return { problem: `The name ${parsed.error.issues[0]?.message ?? 'is not valid'}.` };
}

/**
 * Refuses a form that another site sent. Every browser sends at least one of the two headers
 * (docs/reference/identities.md#consent).
 */
function checkOrigin({ headers }: FastifyRequest, baseUrl: string): void {
  if (headers['sec-fetch-site'] === 'same-origin' || headers.origin === baseUrl) return;
  throw new AppError('forbidden', 'Press the button on the page of the gateway itself.');
}

function checkFormToken(form: URLSearchParams, expected: string): void {
  const given = Buffer.from(form.get('token') ?? '');
  const wanted = Buffer.from(expected);
  if (given.length === wanted.length && timingSafeEqual(given, wanted)) return;
  throw new AppError('forbidden', 'Press the button on the page of the gateway itself.');
}

const ended = () =>
  new AppError('expired', 'This request was answered before, or waited for more than ten minutes.');

function showError(
  { logger }: OauthDeps,
  _request: FastifyRequest,
  reply: FastifyReply,
  thrown: unknown,
): void {
  const error = AppError.from(thrown);
  if (error.code === 'internal') logger.error({ err: error.cause ?? error }, 'consent failed');
  const advice =
    error.code === 'expired' || error.code === 'conflict'
      ? ' Go back to the application and connect again.'
      : '';
  void reply
    .code(errorCodes[error.code].httpStatus)
    .headers(pageHeaders())
    .send(messagePage('Nothing was allowed', `${error.message}${advice}`));
}
