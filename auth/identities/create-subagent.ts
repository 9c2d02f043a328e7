import { v7 as uuidv7 } from 'uuid';

import type { Identity as PublicIdentity } from '#contracts/http/identities';
import type { CallContext, Principal } from '#contracts/vocabulary';
import type { Sql, Transaction } from '#database';
import { AppError } from '#errors';
import { appendEvent } from '#events';
import type { Deps } from '../deps.ts';
import { canCreateSubagentBelow, canSee } from './domain/access.ts';
import { parseDuration } from './domain/duration.ts';
import { identityCreatedEvent, identityRevokedEvent } from './domain/identity-events.ts';
import type { ChangeOrigin } from '../callers/domain/change-event.ts';
import {
  identityDepthMax,
  standingOf,
  subagentTtlSecondsMax,
  subagentsPerAgentMax,
} from './domain/identity.ts';
import type { Identity } from './domain/identity.ts';
import { presentIdentity } from './domain/present-identity.ts';
import {
  countLiveIdentitiesBelow,
  findExpiredChild,
  findIdentity,
  getIdentity,
  insertChild,
  listChain,
  lockTree,
} from './identities.sql.ts';
import { revokeWithCredentials } from './revocation.sql.ts';

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
  const parentId = parentIdOf(caller, body.parent_id);
  const ttlSeconds = body.ttl === undefined ? null : ttlSecondsOf(body.ttl);
  const { orgId } = caller;

  return db.transaction(async (tx) => {
    const parent = await getParent(tx, { caller, parentId });
    await lockTree(tx, { orgId, ownerId: parent.ownerId });
    await checkParentHasRoom(tx, parent);
    await freeExpiredName(tx, { caller, context }, { parent, name: body.name });

    const id = uuidv7();
    const insertedSubagent = await insertChild(tx, {
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
    if (!insertedSubagent) {
      throw new AppError(
        'conflict',
        `${parent.name} already has a subagent named ${body.name}; choose another name.`,
      );
    }
    const subagent = await getIdentity(tx, { orgId, id });
    await appendEvent(tx, identityCreatedEvent({ caller, context }, subagent));
    return presentIdentity(subagent);
  });
}

/** The parent is the calling agent unless the request names a parent. A user must name one. */
function parentIdOf(caller: Principal, parentId: string | undefined): string {
  if (parentId !== undefined) return parentId;
  if (caller.kind !== 'user') return caller.identityId;
  throw invalidFieldError('parent_id', 'Name the agent or subagent below which to create it.');
}

function ttlSecondsOf(ttl: string): number {
  const seconds = parseDuration(ttl);
  if (seconds !== undefined && seconds >= 1 && seconds <= subagentTtlSecondsMax) return seconds;
  throw invalidFieldError(
    'ttl',
    'Write it as <n>(s|m|h|d), for example 90m or 1d12h, 365d at most.',
  );
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
    throw invalidFieldError('parent_id', 'It is a user; name an agent or a subagent.');
  }
  return parent;
}

/**
 * The caller must have locked the user's tree of identities (`lockTree`), so that nothing changes
 * between this check and the insert.
 */
async function checkParentHasRoom(sql: Sql, parent: Identity): Promise<void> {
  const { orgId, id, depth, lineage } = parent;
  const chain = await listChain(sql, { orgId, id });
  if (standingOf(chain) !== 'active') {
    throw new AppError('conflict', 'The parent or one above it is not active any more.');
  }
  if (depth >= identityDepthMax) {
    throw new AppError('conflict', `Subagents nest at most ${identityDepthMax} levels deep.`);
  }
  const agentId = lineage[1] ?? id;
  const liveCount = await countLiveIdentitiesBelow(sql, { orgId, id: agentId, kind: 'subagent' });
  if (liveCount >= subagentsPerAgentMax) {
    throw new AppError(
      'conflict',
      `An agent has at most ${subagentsPerAgentMax} live subagents below it; revoke one or wait until one expires.`,
    );
  }
}

/**
 * Revokes an expired subagent that has the name of the new subagent: only when it is revoked is its
 * name free again.
 */
async function freeExpiredName(
  tx: Transaction,
  change: ChangeOrigin,
  { parent, name }: { parent: Identity; name: string },
): Promise<void> {
  const { orgId } = parent;
  const expiredChild = await findExpiredChild(tx, { orgId, parentId: parent.id, name });
  if (expiredChild === undefined) return;
  const revokedIds = await revokeWithCredentials(tx, { orgId, id: expiredChild.id });
  const reason = `${expiredChild.path.join(' / ')} had expired and made room for a new subagent of that name.`;
  await appendEvent(
    tx,
    identityRevokedEvent(change, { identity: expiredChild, revokedIds, why: reason }),
  );
}

function invalidFieldError(path: string, message: string): AppError {
  return new AppError('invalid_params', `${path} is not valid. ${message}`, {
    details: { issues: [{ path, message }] },
  });
}
