import { timingSafeEqual } from 'node:crypto';

import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';

import { cliClientId } from '#contracts/oauth';
import { name as nameSchema } from '#contracts/vocabulary';
import { AppError, errorCodes } from '#errors';
import { createMessagePage, showPage } from '#pages';
import { canCreateAgent } from '../identities/domain/access.ts';
import { agentNameFrom, toUniqueName } from './domain/agent-name.ts';
import { formTargetOf } from '#contracts/redirect-uri';
import { listOwnAgents } from './oauth-agents.sql.ts';
import { allowClient, denyClient } from './decide-consent.ts';
import type { ConsentChoice } from './decide-consent.ts';
import { contextOf } from './session-caller.ts';
import { findWaitingAuthorization, hasAuthorizationEnded } from './waiting-authorization.ts';
import type { WaitingAuthorization } from './waiting-authorization.ts';
import { renderConsentPage } from './consent-page.ts';
import type { OauthDeps } from './deps.ts';
import { oauthPaths } from './paths.ts';

/**
 * The page `GET|POST /oauth/consent?id=…`, where the user decides what a client may do, and as
 * which agent.
 */
export async function registerConsentPages(app: FastifyInstance, deps: OauthDeps): Promise<void> {
  app.setErrorHandler((error: unknown, request, reply) => showError(deps, request, reply, error));

  app.get(oauthPaths.consent, async (request, reply) => {
    const pendingAuthorization = await findWaitingAuthorization(deps, request);
    return showConsent(deps, reply, pendingAuthorization);
  });

  app.post(oauthPaths.consent, async (request, reply) => {
    const pendingAuthorization = await findWaitingAuthorization(deps, request);
    const form = request.body instanceof URLSearchParams ? request.body : new URLSearchParams();
    checkOrigin(request, deps.baseUrl);
    checkFormToken(form, pendingAuthorization.formToken);
    const { caller, interaction } = pendingAuthorization;
    if (form.get('decision') !== 'allow') {
      await denyClient(deps, { caller, interaction });
      return reply.redirect(pendingAuthorization.continueAt, 303);
    }
    const showConsentAgain = (problem: string) =>
      showConsent(deps, reply.code(400), pendingAuthorization, { problem, name: form.get('name') });
    const choice = readChoice(form, pendingAuthorization);
    if ('problem' in choice) return showConsentAgain(choice.problem);
    try {
      await allowClient(deps, {
        caller,
        context: contextOf(request),
        request: pendingAuthorization.request,
        interaction,
        choice,
      });
    } catch (error) {
      const isCorrectable = error instanceof AppError && choice.actAs !== 'user';
      if (!isCorrectable || (await hasAuthorizationEnded(deps, pendingAuthorization))) throw error;
      return showConsentAgain(error.message);
    }
    return reply.redirect(pendingAuthorization.continueAt, 303);
  });
}

async function showConsent(
  { db }: OauthDeps,
  reply: FastifyReply,
  pendingAuthorization: WaitingAuthorization,
  previousAttempt: { problem: string | null; name: string | null } = { problem: null, name: null },
): Promise<FastifyReply> {
  const { caller, client, redirectUri } = pendingAuthorization;
  const isAsUser = client.id === cliClientId;
  const { orgId, userId } = caller;
  const agents = isAsUser ? [] : await listOwnAgents(db, { orgId, userId });
  const takenNames = new Set(agents.map((agent) => agent.name));
  const suggestedName =
    previousAttempt.name ?? toUniqueName(agentNameFrom(client.name), takenNames);
  const page = renderConsentPage({
    ...pendingAuthorization,
    agents: agents.filter((agent) => agent.isLive),
    suggestedName: canCreateAgent(caller) ? suggestedName : null,
    isAsUser,
    problem: previousAttempt.problem,
  });
  return showPage(reply, page, [formTargetOf(redirectUri)]);
}

function readChoice(
  form: URLSearchParams,
  { client }: WaitingAuthorization,
): ConsentChoice | { problem: string } {
  if (client.id === cliClientId) return { actAs: 'user' };
  const agent = form.get('agent') ?? '';
  if (agent !== 'new') {
    const isAgentId = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/.test(agent);
    return isAgentId
      ? { actAs: 'agent', agentId: agent }
      : { problem: 'Choose one of your agents, or make a new one.' };
  }
  const parseResult = nameSchema.safeParse(form.get('name') ?? '');
  if (parseResult.success) return { actAs: 'new_agent', name: parseResult.data };
  return { problem: `The name ${parseResult.error.issues[0]?.message ?? 'is not valid'}.` };
}

/**
 * Refuses a form that a page of another site sent. Every browser sends `Sec-Fetch-Site` or `Origin`
 * with a form (docs/reference/identities.md#consent).
 */
function checkOrigin({ headers }: FastifyRequest, baseUrl: string): void {
  if (headers['sec-fetch-site'] === 'same-origin' || headers.origin === baseUrl) return;
  throw new AppError('forbidden', 'Press the button on the page of the gateway itself.');
}

function checkFormToken(form: URLSearchParams, expected: string): void {
  const tokenOfForm = Buffer.from(form.get('token') ?? '');
  const expectedToken = Buffer.from(expected);
  if (tokenOfForm.length === expectedToken.length && timingSafeEqual(tokenOfForm, expectedToken))
    return;
  throw new AppError('forbidden', 'Press the button on the page of the gateway itself.');
}

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
  showPage(
    reply.code(errorCodes[error.code].httpStatus),
    createMessagePage('Nothing was allowed', `${error.message}${advice}`),
  );
}
