import type { McpConnection } from '#contracts/http/oauth-clients';
import type { CallContext, Principal } from '#contracts/vocabulary';
import { pageOf, parseSingleCursor, positions } from '#database';
import type { Page, PageRequest, Sql } from '#database';
import { AppError } from '#errors';
import { appendEvent } from '#events';
import type { Deps } from '../deps.ts';
import { ownsAgent } from '../identities/domain/access.ts';
import { connectionChangedEvent } from './domain/connection-changed.ts';
import { presentConnection } from './domain/oauth-connection.ts';
import { findIdentity } from '../identities/identities.sql.ts';
import { revokeOauthGrantsOfBinding } from './oauth-grants.sql.ts';
import {
  deleteBinding,
  findBinding,
  listBindings,
  switchSelfApproval,
} from './mcp-connections.sql.ts';

interface ListFields {
  readonly principal: string;
  readonly id: string;
  readonly page: PageRequest;
}

interface ConnectionRequest {
  readonly principal: string;
  /** The id of the agent. */
  readonly id: string;
  readonly clientId: string;
  readonly context: CallContext;
}

/** Lists the OAuth clients that act as one of the caller's own agents. */
export async function listMcpConnections(
  { db, readPrincipal }: Deps,
  { principal, id: agentId, page }: ListFields,
): Promise<Page<McpConnection>> {
  const caller = readPrincipal(principal);
  await checkOwner(db, caller, agentId);
  const rows = await listBindings(db, {
    orgId: caller.orgId,
    userId: caller.identityId,
    agentId,
    afterId: parseSingleCursor(page.cursor, positions.text),
    limit: page.limit + 1,
  });
  const { items, next_cursor } = pageOf(rows, page.limit, ({ clientId }) => [clientId]);
  return { items: items.map(presentConnection), next_cursor };
}

/**
 * Sets whether an OAuth client may decide its own approvals. Rules that its own decisions created
 * apply only while this is switched on.
 */
export async function updateMcpConnection(
  { db, readPrincipal, credentials }: Deps,
  {
    principal,
    id: agentId,
    clientId,
    body: { self_approve_enabled: enabled },
    context,
  }: ConnectionRequest & { body: { self_approve_enabled: boolean } },
): Promise<McpConnection> {
  const caller = readPrincipal(principal);
  const updatedConnection = await db.transaction(async (tx) => {
    const connection = await requireOwnConnection(tx, { caller, agentId, clientId });
    const isChanged = await switchSelfApproval(tx, { ...connection, enabled });
    const binding = await findBinding(tx, connection);
    if (binding === undefined) throw noConnectionError();
    if (isChanged) {
      const verb = enabled ? 'lets' : 'no longer lets';
      const sentence = `${verb} ${binding.clientName} decide its own approvals`;
      await appendEvent(tx, connectionChangedEvent({ caller, context }, { binding, sentence }));
    }
    return binding;
  });
  credentials.drop();
  return presentConnection(updatedConnection);
}

/**
 * Unbinds an OAuth client from the agent. The client's tokens end. Its next authorization request
 * asks the user for consent again.
 */
export async function deleteMcpConnection(
  { db, readPrincipal, credentials }: Deps,
  { principal, id: agentId, clientId, context }: ConnectionRequest,
): Promise<Record<string, never>> {
  const caller = readPrincipal(principal);
  await db.transaction(async (tx) => {
    const connection = await requireOwnConnection(tx, { caller, agentId, clientId });
    const binding = await findBinding(tx, connection);
    if (binding === undefined || !(await deleteBinding(tx, connection))) throw noConnectionError();
    await revokeOauthGrantsOfBinding(tx, connection);
    const unboundBinding = { ...binding, selfApproveEnabled: false };
    const sentence = `parted ${binding.clientName} from the agent`;
    await appendEvent(
      tx,
      connectionChangedEvent({ caller, context }, { binding: unboundBinding, sentence }),
    );
  });
  credentials.drop();
  return {};
}

async function requireOwnConnection(
  sql: Sql,
  { caller, agentId, clientId }: { caller: Principal; agentId: string; clientId: string },
) {
  await checkOwner(sql, caller, agentId);
  if (caller.role === 'auditor') {
    throw new AppError('forbidden', 'An auditor reads and changes nothing.');
  }
  return { orgId: caller.orgId, userId: caller.identityId, agentId, clientId };
}

/**
 * Throws `not_found` unless the caller owns the agent; even an admin may not see its connections.
 */
async function checkOwner(sql: Sql, caller: Principal, agentId: string): Promise<void> {
  const agent = await findIdentity(sql, { orgId: caller.orgId, id: agentId });
  if (agent !== undefined && ownsAgent(caller, agent)) return;
  throw new AppError('not_found', 'You have no such agent; only its owner sees its connections.');
}

function noConnectionError(): AppError {
  return new AppError('not_found', 'No such client is bound to this agent.');
}
