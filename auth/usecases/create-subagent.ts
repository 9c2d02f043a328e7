import { v7 as uuidv7 } from 'uuid';

import type { Identity as PublicIdentity } from '#contracts/http/identities';
import type { CallContext, Principal } from '#contracts/vocabulary';
import type { Sql, Transaction } from '#database';
import { AppError } from '#errors';
import { appendEvent } from '#events';
import type { Deps } from '../deps.ts';
import { canCreateSubagentBelow, canSee } from '../domain/access.ts';
import { parseDuration } from '../domain/duration.ts';
import { identityCreated, identityRevoked } from '../domain/identity-events.ts';
import type { Change } from '../domain/identity-events.ts';
import {
  depthMax,
  standingOf,
  subagentTtlSecondsMax,
  subagentsPerAgentMax,
} from '../domain/identity.ts';
import type { Identity } from '../domain/identity.ts';
import { presentIdentity } from '../domain/present-identity.ts';
import {
  countLiveBelow,
  findExpiredChild,
  findIdentity,
  getIdentity,
  insertChild,
  listChain,
  lockTree,
} from '../repository/identities.ts';
import { revokeWithCredentials } from '../repository/revocation.ts';

interface CreateSubagentFields {
  readonly principal: string;
  readonly body: {
    readonly name: string;
    readonly parent_id?: string | undefined;
    readonly inherit_permissions?: boolean | undefined;
    readonly ttl?: string | undefined;
  };
  readonly context: CallContext;
}

/** Creates a subagent below an agent or another subagent. */
export async function createSubagent(
  { db, readPrincipal }: Deps,
  { principal, body, context }: CreateSubagentFields,
): Promise<PublicIdentity> {
  const caller = readPrincipal(principal);
  const parentId = parentOf(caller, body.parent_id);
  const ttlSeconds = body.ttl === undefined ? null : ttlOf(body.ttl);
  const { orgId } = caller;

  return db.transaction(async (tx) => {
    const parent = await getParent(tx, { caller, parentId });
    await lockTree(tx, { orgId, ownerId: parent.ownerId });
    await checkRoom(tx, parent);
    await freeExpiredName(tx, { caller, context }, { parent, name: body.name });

    const id = uuidv7();
    const inserted = await insertChild(tx, {
      id,
      orgId,
      parentId,
      kind: 'subagent',
      name: body.name,
      inheritPermissions: body.inherit_permissions ?? false,
      autoCallOnApprove: true,
      createdBy: caller.identityId,
      ttlSeconds,
    });
    if (!inserted) {
      throw new AppError(
        'conflict',
        `${parent.name} already has a subagent named ${body.name}; choose another name.`,
      );
    }
    const subagent = await getIdentity(tx, { orgId, id });
    await appendEvent(tx, identityCreated({ caller, context }, subagent));
    return presentIdentity(subagent);
  });
}

/** An agent means itself when it names no parent; a user has to say which agent it means. */
function parentOf(caller: Principal, parentId: string | undefined): string {
  if (parentId !== undefined) return parentId;
  if (caller.kind !== 'user') return caller.identityId;
  throw invalid('parent_id', 'Name the agent or subagent below which to create it.');
}

function ttlOf(ttl: string): number {
  const seconds = parseDuration(ttl);
  if (seconds !== undefined && seconds >= 1 && seconds <= subagentTtlSecondsMax) return seconds;
  throw invalid('ttl', 'Write it as <n>(s|m|h|d), for example 90m or 1d12h, 365d at most.');
}

async function getParent(
  sql: Sql,
  { caller, parentId }: { caller: Principal; parentId: string },
): Promise<Identity> {
  const parent = await findIdentity(sql, { orgId: caller.orgId, id: parentId });
  if (parent === undefined || !canSee(caller, parent)) {
    throw new AppError('not_found', 'There is no such parent among the identities you may see.');
  }
  if (!canCreateSubagentBelow(caller, parent)) {
    throw new AppError(
      'forbidden',
      'An agent creates subagents below itself, a user below its own agents; choose such a parent.',
    );
  }
  if (parent.kind === 'user') {
    throw invalid('parent_id', 'It is a user; name an agent or a subagent.');
  }
  return parent;
}

/** Called with the tree locked, so that what holds here still holds at the insert. */
async function checkRoom(sql: Sql, parent: Identity): Promise<void> {
  const { orgId, id, depth, lineage } = parent;
  const chain = await listChain(sql, { orgId, id });
  if (standingOf(chain) !== 'active') {
    throw new AppError('conflict', 'The parent or one above it is not active any more.');
  }
  if (depth >= depthMax) {
    throw new AppError('conflict', `Subagents nest at most ${depthMax} levels deep.`);
  }
  const agentId = lineage[1] ?? id;
  const live = await countLiveBelow(sql, { orgId, id: agentId, kind: 'subagent' });
  if (live >= subagentsPerAgentMax) {
    throw new AppError(
      'conflict',
      `An agent has at most ${subagentsPerAgentMax} live subagents below it; revoke one or wait until one expires.`,
    );
  }
}

/** A subagent whose time is over gives up its name to the next one. */
async function freeExpiredName(
  tx: Transaction,
  change: Change,
  { parent, name }: { parent: Identity; name: string },
): Promise<void> {
  const { orgId } = parent;
  const expired = await findExpiredChild(tx, { orgId, parentId: parent.id, name });
  if (expired === undefined) return;
  const revokedIds = await revokeWithCredentials(tx, { orgId, id: expired.id });
  const why = `${expired.path.join(' / ')} had expired and made room for a new subagent of that name.`;
  await appendEvent(tx, identityRevoked(change, { identity: expired, revokedIds, why }));
}

function invalid(path: string, message: string): AppError {
  return new AppError('invalid_params', `${path} is not valid. ${message}`, {
    details: { issues: [{ path, message }] },
  });
}
