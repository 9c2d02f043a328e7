import { AppError } from '#errors';
import { appendEvent } from '#events';
import type { Transaction } from '#database';
import type { Deps } from '../deps.ts';
import { auditOf, nameOf } from '../domain/audit-entry.ts';
import type { Identity } from '../domain/identity.ts';
import { withImplied } from '../domain/oauth-scopes.ts';
import { formatScopedId } from '../domain/scoped-id.ts';
import { findIdentity, getIdentity, lockTree } from '../repository/identities.ts';
import { bindOauthClient } from '../repository/oauth-bindings.ts';
import { decideInteraction } from '../repository/oauth-interactions.ts';
import { createAgentIn } from './create-agent.ts';
import { issueOauthGrant } from './issue-oauth-grant.ts';
import type { Asked } from './issue-oauth-grant.ts';

/** Whom the client shall act as. */
export type ConsentChoice =
  | { readonly actAs: 'agent'; readonly agentId: string }
  | { readonly actAs: 'new_agent'; readonly name: string }
  | { readonly actAs: 'user' };

interface ConsentFields extends Asked {
  /** The waiting authorization, by the hash of its id. */
  readonly interaction: Buffer;
  readonly choice: ConsentChoice;
}

/**
 * Lets a client in. The agent, its binding, the grant and the answer to the waiting authorization
 * come into being together or not at all. `conflict` when it was answered before.
 */
export async function allowClient({ db }: Deps, fields: ConsentFields): Promise<void> {
  const { caller, interaction } = fields;
  await db.transaction(async (tx) => {
    const identity = await chooseIdentity(tx, fields);
    if (fields.choice.actAs !== 'user') await bind(tx, fields, identity);
    const { orgId, id } = await issueOauthGrant(tx, fields, identity);
    const grantId = formatScopedId({ orgId, id });
    await answer(tx, { caller, interaction, result: { consent: { grantId } } });
  });
}

/** Turns a client away: it is told `access_denied` at its redirect URI. */
export async function denyClient(
  { db }: Deps,
  { caller, interaction }: Pick<ConsentFields, 'caller' | 'interaction'>,
): Promise<void> {
  const result = { error: 'access_denied', error_description: 'The user turned the request down.' };
  await db.transaction((tx) => answer(tx, { caller, interaction, result }));
}

async function chooseIdentity(
  tx: Transaction,
  { caller, context, choice }: ConsentFields,
): Promise<Identity> {
  const { orgId, userId } = caller;
  if (choice.actAs === 'user') return getIdentity(tx, { orgId, id: userId });
  if (choice.actAs === 'new_agent') {
    return createAgentIn(tx, { caller, body: { name: choice.name }, context });
  }
  await lockTree(tx, { orgId, ownerId: userId });
  const agent = await findIdentity(tx, { orgId, id: choice.agentId });
  if (agent?.kind !== 'agent' || agent.parentId !== userId || agent.status !== 'active') {
    throw new AppError('not_found', 'Choose one of your own active agents, or make a new one.');
  }
  return agent;
}

async function bind(
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
    scopes: withImplied(scopes),
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
    audit: auditOf(
      caller,
      context,
      `${nameOf(caller)} bound ${clientName} to the agent ${agent.path.join(' / ')}.`,
    ),
  });
}

async function answer(
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
