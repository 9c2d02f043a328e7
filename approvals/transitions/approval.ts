import { v7 as uuidv7 } from 'uuid';

import type { Database, Transaction } from '#database';
import {
  announceBubbled,
  announceFinished,
  announceRemembered,
  announceResolved,
} from '../domain/announce.ts';
import type { Actor, Remembered } from '../domain/announce.ts';
import type { Approval } from '../domain/approval.ts';
import { nextResolver } from '../domain/ladder.ts';
import { findApproval } from '../repository/approval.ts';
import {
  allowOpenApproval,
  denyOpenApproval,
  moveUpOpenApproval,
} from '../repository/approval-moves.ts';
import { listOpenApprovalIds } from '../repository/approval-lists.ts';
import {
  expireOverdueApprovals,
  expireOverdueExecutions,
  lockApprovalsToBubble,
} from '../repository/due.ts';
import { insertExecution } from '../repository/execution.ts';
import { announce } from './announce.ts';

// Every move of an approval: one guarded statement and the one event that reports it, together.
// Undefined, or false, means that the move was not possible any more.

interface Allow {
  readonly actor: Actor;
  readonly reason: string | null;
  /** As auth signed it. */
  readonly decision: string;
  /** The approval that it was made on, and its gap, where that is another one. */
  readonly cascadedFrom: { readonly id: string; readonly gap: string } | null;
  /** What is remembered by it; null for this call alone. */
  readonly remembered: Remembered | null;
}

export async function allowApproval(
  db: Database,
  approval: Approval,
  { actor, reason, decision, cascadedFrom, remembered }: Allow,
): Promise<Approval | undefined> {
  const key = { orgId: approval.orgId, approvalId: approval.id };
  return db.transaction(async (tx) => {
    const isAllowed = await allowOpenApproval(tx, {
      ...key,
      resolution: remembered ? 'allow_remember' : 'allow',
      resolvedBy: actor.identity,
      decision,
      decidedGap: cascadedFrom?.gap ?? null,
      reason,
      cascadedFrom: cascadedFrom?.id ?? null,
    });
    if (!isAllowed) return undefined;
    await insertExecution(tx, {
      ...key,
      id: uuidv7(),
      runtime: approval.card.runtime ?? 'http',
      automatic: approval.autoCallOnApprove,
    });
    const allowed = await getMoved(tx, key);
    await announce(tx, announceResolved(allowed, actor));
    if (remembered) await announce(tx, announceRemembered(allowed, remembered, actor));
    return allowed;
  });
}

interface Deny {
  /** Null when it is the clock, or a revocation, that denies. */
  readonly actor: Actor | null;
  readonly resolution: 'deny' | null;
  readonly reason: string | null;
}

export async function denyApproval(
  db: Database,
  key: { orgId: string; approvalId: string },
  { actor, resolution, reason }: Deny,
): Promise<Approval | undefined> {
  return db.transaction(async (tx) => {
    const resolvedBy = actor?.identity ?? null;
    const isDenied = await denyOpenApproval(tx, { ...key, resolution, resolvedBy, reason });
    if (!isDenied) return undefined;
    const denied = await getMoved(tx, key);
    await announce(tx, announceResolved(denied, actor));
    return denied;
  });
}

/** Denies all that a requester has open because it, or somebody above it, has ended; how many there were. */
export async function denyRevoked(
  db: Database,
  { orgId, requesterId }: { orgId: string; requesterId: string },
  ended: 'revoked' | 'expired',
): Promise<number> {
  const ids = await listOpenApprovalIds(db, { orgId, requesterId });
  let denied = 0;
  for (const approvalId of ids) {
    const deny = { actor: null, resolution: null, reason: `requester_${ended}` };
    if (await denyApproval(db, { orgId, approvalId }, deny)) denied += 1;
  }
  return denied;
}

/** Hands an open approval to the next ancestor above its resolver. The caller has seen that there is one. */
export async function bubbleApproval(
  tx: Transaction,
  approval: Approval,
  { by, actor }: { by: 'user' | 'agent' | 'timer'; actor: Actor | null },
): Promise<Approval | undefined> {
  const key = { orgId: approval.orgId, approvalId: approval.id };
  const next = nextResolver(approval.ladder, approval.resolverId);
  if (!next) return undefined;
  const move = { from: approval.resolverId, to: next.id };
  const isTop = nextResolver(approval.ladder, next.id) === undefined;
  if (!(await moveUpOpenApproval(tx, { ...key, ...move, isTop }))) return undefined;
  const bubbled = await getMoved(tx, key);
  await announce(tx, announceBubbled(bubbled, { ...move, by, actor }));
  return bubbled;
}

/** Moves up what has waited too long; how many there were. */
export async function bubbleOverdue(db: Database, limit: number): Promise<number> {
  return db.transaction(async (tx) => {
    const overdue = await lockApprovalsToBubble(tx, limit);
    for (const approval of overdue)
      await bubbleApproval(tx, approval, { by: 'timer', actor: null });
    return overdue.length;
  });
}

/** Expires undecided approvals whose time is up; how many there were. */
export async function expireApprovals(
  tx: Transaction,
  { requester, limit }: { requester: { orgId: string; id: string } | null; limit: number },
): Promise<number> {
  const expired = await expireOverdueApprovals(tx, { requester, limit });
  for (const approval of expired) await announce(tx, announceResolved(approval, null));
  return expired.length;
}

/** Expires allowed calls that nobody ran in time; how many there were. */
export async function expireExecutions(tx: Transaction, limit: number): Promise<number> {
  const expired = await expireOverdueExecutions(tx, limit);
  for (const approval of expired) await announce(tx, announceFinished(approval, null));
  return expired.length;
}

async function getMoved(
  tx: Transaction,
  key: { orgId: string; approvalId: string },
): Promise<Approval> {
  const approval = await findApproval(tx, key);
  if (!approval) throw new Error('an approval that was just moved is gone');
  return approval;
}
