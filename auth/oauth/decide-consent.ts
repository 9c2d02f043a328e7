import { AppError } from '#errors';
import { appendEvent } from '#events';
import type { Transaction } from '#database';
import type { Deps } from '../deps.ts';
import { auditEntryOf, callerNameOf } from '../callers/domain/audit-entry.ts';
import type { Identity } from '../identities/domain/identity.ts';
import { withImpliedScopes } from './domain/oauth-scopes.ts';
import { formatScopedId } from './domain/scoped-id.ts';
import { findIdentity, getIdentity, lockTree } from '../identities/identities.sql.ts';
import { bindOauthClient } from '../oauth-clients/oauth-bindings.sql.ts';
import { decideInteraction } from './oauth-interactions.sql.ts';
import { createAgentInTransaction } from '../identities/create-agent.ts';
import { issueOauthGrant } from './issue-oauth-grant.ts';
import type { UserAuthorization } from './issue-oauth-grant.ts';

/** The identity that the client will act as. */
export type ConsentChoice =
  | { readonly actAs: 'agent'; readonly agentId: string }
  | { readonly actAs: 'new_agent'; readonly name: string }
  | { readonly actAs: 'user' };

interface ConsentFields extends UserAuthorization {
  /** The hash of the id of the waiting authorization. */
  readonly interaction: Buffer;
  readonly choice: ConsentChoice;
}

/**
 * Allows a client. One transaction creates the agent, its binding and the grant, and answers the
 * waiting authorization. Throws `conflict` when the authorization was already answered.
 */
export async function allowClient({ db }: Deps, fields: ConsentFields): Promise<void> {
  const { caller, interaction } = fields;
  await db.transaction(async (tx) => {
    const identity = await chooseIdentity(tx, fields);
    if (fields.choice.actAs !== 'user') await bindClient(tx, fields, identity);
    const { orgId, id } = await issueOauthGrant(tx, fields, identity);
    const grantId = formatScopedId({ orgId, id });
    await answerConsent(tx, { caller, interaction, result: { consent: { grantId } } });
  });
}

/** Denies a client. The client receives `access_denied` at its redirect URI. */
export async function denyClient(
  { db }: Deps,
  { caller, interaction }: Pick<ConsentFields, 'caller' | 'interaction'>,
): Promise<void> {
  const result = { error: 'access_denied', error_description: 'The user turned the request down.' };
  await db.transaction((tx) => answerConsent(tx, { caller, interaction, result }));
}

async function chooseIdentity(
  tx: Transaction,
  { caller, context, choice }: ConsentFields,
): Promise<Identity> {
  const { orgId, userId } = caller;
  if (choice.actAs === 'user') return getIdentity(tx, { orgId, id: userId });
  if (choice.actAs === 'new_agent') {
    return createAgentInTransaction(tx, { caller, body: { name: choice.name }, context });
  }
  await lockTree(tx, { orgId, ownerId: userId });
  const agent = await findIdentity(tx, { orgId, id: choice.agentId });
  if (agent?.kind !== 'agent' || agent.parentId !== userId || agent.status !== 'active') {
    throw new AppError('not_found', 'Choose one of your own active agents, or make a new one.');
  }
  return agent;
}

async function bindClient(
  tx: Transaction,
  { caller, context, request }: ConsentFields,
  agent: Identity,
): Promise<void> {
  const { orgId, userId } = caller;
  const { clientId, clientName, scopes } = request;
  const { selfApproveEnabled } = await bindOauthClient(tx, {
    orgId,
    userId,
    clientId,
    agentId: agent.id,
    scopes: withImpliedScopes(scopes),
  });
  await appendEvent(tx, {
    type: 'mcp_connection.changed',
    orgId,
    audience: agent.lineage,
    data: {
      agent_id: agent.id,
      client_id: clientId,
      user_id: userId,
      self_approve_enabled: selfApproveEnabled,
    },
    audit: auditEntryOf(
      caller,
      context,
      `${callerNameOf(caller)} bound ${clientName} to the agent ${agent.path.join(' / ')}.`,
    ),
  });
}

async function answerConsent(
  tx: Transaction,
  {
    caller,
    interaction,
    result,
  }: Pick<ConsentFields, 'caller' | 'interaction'> & { result: object },
): Promise<void> {
  const { orgId, credential } = caller;
  const key = { orgId, sessionId: credential.id, hash: interaction };
  if (await decideInteraction(tx, { ...key, result })) return;
  throw new AppError('conflict', 'This request was answered before, or waited too long.');
}
