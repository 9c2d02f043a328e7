import type { McpConnection } from '#contracts/http/oauth-clients';
import type { CallContext, Principal } from '#contracts/vocabulary';
import { pageOf, parseSingleCursor, positions } from '#database';
import type { Page, PageRequest, Sql } from '#database';
import { AppError } from '#errors';
import { appendEvent } from '#events';
import type { Deps } from '../deps.ts';
import { ownsAgent } from '../domain/access.ts';
import { connectionChanged } from '../domain/identity-events.ts';
import { presentConnection } from '../domain/oauth-connection.ts';
import { findIdentity } from '../repository/identities.ts';
import { revokeOauthGrantsOfBinding } from '../repository/oauth-grants.ts';
import {
  deleteBinding,
  findBinding,
  listBindings,
  switchSelfApproval,
} from '../repository/mcp-connections.ts';

interface ListFields {
  readonly principal: string;
  readonly id: string;
  readonly page: PageRequest;
}

interface OneConnection {
  readonly principal: string;
  /** The agent's. */
  readonly id: string;
  readonly clientId: string;
  readonly context: CallContext;
}

/** The OAuth clients that act as one of the caller's own agents. */
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

/** Lets a client decide its own approvals, or stops that; rules it made count only while it is on. */
export async function updateMcpConnection(
  { db, readPrincipal, credentials }: Deps,
  {
    principal,
    id: agentId,
    clientId,
    body: { self_approve_enabled: enabled },
    context,
  }: OneConnection & { body: { self_approve_enabled: boolean } },
): Promise<McpConnection> {
  const caller = readPrincipal(principal);
  const updated = await db.transaction(async (tx) => {
    const one = await ownConnection(tx, { caller, agentId, clientId });
    const isChanged = await switchSelfApproval(tx, { ...one, enabled });
    const binding = await findBinding(tx, one);
    if (binding === undefined) throw noConnection();
    if (isChanged) {
      const what = enabled ? 'lets' : 'no longer lets';
      const sentence = `${what} ${binding.clientName} decide its own approvals`;
      await appendEvent(tx, connectionChanged({ caller, context }, { binding, sentence }));
    }
    return binding;
  });
  credentials.drop();
  return presentConnection(updated);
}

/** Parts a client from the agent: its tokens end, and its next authorization asks for consent. */
export async function deleteMcpConnection(
  { db, readPrincipal, credentials }: Deps,
  { principal, id: agentId, clientId, context }: OneConnection,
): Promise<Record<string, never>> {
  const caller = readPrincipal(principal);
  await db.transaction(async (tx) => {
    const one = await ownConnection(tx, { caller, agentId, clientId });
    const binding = await findBinding(tx, one);
    if (binding === undefined || !(await deleteBinding(tx, one))) throw noConnection();
    await revokeOauthGrantsOfBinding(tx, one);
    const parted = { ...binding, selfApproveEnabled: false };
    const sentence = `parted ${binding.clientName} from the agent`;
    await appendEvent(tx, connectionChanged({ caller, context }, { binding: parted, sentence }));
  });
  credentials.drop();
  return {};
}

async function ownConnection(
  sql: Sql,
  { caller, agentId, clientId }: { caller: Principal; agentId: string; clientId: string },
) {
  await checkOwner(sql, caller, agentId);
  if (caller.role === 'auditor') {
    throw new AppError('forbidden', 'An auditor reads and changes nothing.');
  }
  return { orgId: caller.orgId, userId: caller.identityId, agentId, clientId };
}

/** Nobody's but the owner's: an admin, too, is told that there is none. */
async function checkOwner(sql: Sql, caller: Principal, agentId: string): Promise<void> {
  const agent = await findIdentity(sql, { orgId: caller.orgId, id: agentId });
  if (agent !== undefined && ownsAgent(caller, agent)) return;
  throw new AppError('not_found', 'You have no such agent; only its owner sees its connections.');
}

function noConnection(): AppError {
  return new AppError('not_found', 'No such client is bound to this agent.');
}
