import { v7 as uuidv7 } from 'uuid';

import type { Database, Transaction } from '#database';
import { findTraceparent } from '#telemetry';
import { storeAnnouncement } from '../approval/announce.ts';
import { listOpenApprovalIds } from '../approval/approval-lists.sql.ts';
import { findApproval } from '../approval/approval.sql.ts';
import type { ApprovalKey } from '../approval/approval.sql.ts';
import {
  finishedAnnouncementOf,
  moveAnnouncementOf,
  resolvedAnnouncementOf,
} from '../approval/domain/announcements.ts';
import type { Actor, Announcement, RememberedDecision } from '../approval/domain/announcements.ts';
import type { Approval } from '../approval/domain/approval.ts';
import { findNextResolver } from '../approval/domain/ladder.ts';
import { insertExecution } from '../executions/execution.sql.ts';
import { allowOpenApproval, denyOpenApproval, moveUpOpenApproval } from './open-approval.sql.ts';
import {
  expireOverdueApprovals,
  expireOverdueExecutions,
  lockApprovalsToBubble,
} from './overdue.sql.ts';

// Each function of this file changes an approval by one statement that checks the old state, and
// stores the event of the change, all in one transaction. It returns undefined or false when the
// approval's state no longer permits the change.

interface AllowMove {
  readonly actor: Actor;
  readonly reason: string | null;
  /** The decision, signed by auth. */
  readonly decision: string;
  /**
   * For a decision by a cascade: the approval on which the decision was made, and that approval's
   * permission gap. Null otherwise.
   */
  readonly cascadedFrom: { readonly id: string; readonly gap: string } | null;
  /** The data from which policy creates rules; null for a decision that allows only this call. */
  readonly remembered: RememberedDecision | null;
}

export async function allowApproval(
  db: Database,
  approval: Approval,
  { actor, reason, decision, cascadedFrom, remembered }: AllowMove,
): Promise<Approval | undefined> {
  const key = { orgId: approval.orgId, approvalId: approval.id };
  const traceparent = findTraceparent() ?? null;
  return db.transaction((tx) =>
    moveOpenApproval(tx, key, {
      async move() {
        const isAllowed = await allowOpenApproval(tx, {
          ...key,
          resolution: remembered ? 'allow_remember' : 'allow',
          resolvedBy: actor.identity,
          decision,
          decidedGap: cascadedFrom?.gap ?? null,
          reason,
          cascadedFrom: cascadedFrom?.id ?? null,
        });
        if (!isAllowed) return false;
        await insertExecution(tx, {
          ...key,
          id: uuidv7(),
          runtime: approval.card.runtime ?? 'http',
          automatic: approval.autoCallOnApprove,
          traceparent,
        });
        return true;
      },
      announcementsOf: (allowedApproval) => [
        resolvedAnnouncementOf(allowedApproval, actor),
        ...(remembered ? [announceRemembered(allowedApproval, remembered, actor)] : []),
      ],
    }),
  );
}

/**
 * Announces the internal event. Policy creates the rules when the event arrives, if approvals could
 * not reach policy directly.
 */
function announceRemembered(
  approval: Approval,
  { gap, decision }: RememberedDecision,
  actor: Actor,
): Announcement {
  const data = { gap, decision };
  return moveAnnouncementOf(approval, {
    type: 'approval.remembered',
    data,
    verb: 'Remembered',
    actor,
  });
}

interface DenyMove {
  /** Null when nobody denied the approval: its time limit ended or its requester was revoked. */
  readonly actor: Actor | null;
  readonly resolution: 'deny' | null;
  readonly reason: string | null;
}

export async function denyApproval(
  db: Database,
  key: ApprovalKey,
  { actor, resolution, reason }: DenyMove,
): Promise<Approval | undefined> {
  const resolvedBy = actor?.identity ?? null;
  return db.transaction((tx) =>
    moveOpenApproval(tx, key, {
      move: () => denyOpenApproval(tx, { ...key, resolution, resolvedBy, reason }),
      announcementsOf: (deniedApproval) => [resolvedAnnouncementOf(deniedApproval, actor)],
    }),
  );
}

/**
 * Denies every open approval of a requester that was revoked or has expired, or one of whose
 * ancestors was revoked or has expired. Returns how many.
 */
export async function denyRevoked(
  db: Database,
  { orgId, requesterId }: { orgId: string; requesterId: string },
  endStatus: 'revoked' | 'expired',
): Promise<number> {
  const ids = await listOpenApprovalIds(db, { orgId, requesterId });
  let deniedCount = 0;
  for (const approvalId of ids) {
    const deny = { actor: null, resolution: null, reason: `requester_${endStatus}` };
    if (await denyApproval(db, { orgId, approvalId }, deny)) deniedCount += 1;
  }
  return deniedCount;
}

/**
 * Hands an open approval to the next ancestor above its resolver; undefined when there is none. The
 * actor is null when the resolver has had the approval for too long.
 */
export async function bubbleApproval(
  tx: Transaction,
  approval: Approval,
  actor: Actor | null,
): Promise<Approval | undefined> {
  const key = { orgId: approval.orgId, approvalId: approval.id };
  const nextStep = findNextResolver(approval.ladder, approval.resolverId);
  if (!nextStep) return undefined;
  const move = { from: approval.resolverId, to: nextStep.id };
  const isTop = findNextResolver(approval.ladder, nextStep.id) === undefined;
  const by = actor === null ? 'timer' : actor.identity.kind === 'user' ? 'user' : 'agent';
  return moveOpenApproval(tx, key, {
    move: () => moveUpOpenApproval(tx, { ...key, ...move, isTop }),
    announcementsOf: (bubbledApproval) => [
      moveAnnouncementOf(bubbledApproval, {
        type: 'approval.bubbled',
        data: { ...move, by },
        verb: 'Handed up',
        actor,
      }),
    ],
  });
}

/** Hands up approvals that their resolver has not decided in time; returns how many. */
export async function bubbleOverdue(db: Database, limit: number): Promise<number> {
  return db.transaction(async (tx) => {
    const overdueApprovals = await lockApprovalsToBubble(tx, limit);
    for (const approval of overdueApprovals) await bubbleApproval(tx, approval, null);
    return overdueApprovals.length;
  });
}

/** Expires approvals that were not decided in time; returns how many. */
export async function expireApprovals(
  tx: Transaction,
  { requester, limit }: { requester: { orgId: string; id: string } | null; limit: number },
): Promise<number> {
  const expiredApprovals = await expireOverdueApprovals(tx, { requester, limit });
  for (const approval of expiredApprovals)
    await storeAnnouncement(tx, resolvedAnnouncementOf(approval, null));
  return expiredApprovals.length;
}

/** Expires allowed calls that were not run in time; returns how many. */
export async function expireExecutions(tx: Transaction, limit: number): Promise<number> {
  const expiredExecutions = await expireOverdueExecutions(tx, limit);
  for (const approval of expiredExecutions)
    await storeAnnouncement(tx, finishedAnnouncementOf(approval, null));
  return expiredExecutions.length;
}

interface OpenApprovalMove {
  /**
   * Runs the statement, which checks the old state. False when the approval was in another state.
   */
  readonly move: () => Promise<boolean>;
  readonly announcementsOf: (movedApproval: Approval) => readonly Announcement[];
}

/**
 * Moves an open approval and stores the events of the move. Returns the approval in its new state.
 */
async function moveOpenApproval(
  tx: Transaction,
  key: ApprovalKey,
  { move, announcementsOf }: OpenApprovalMove,
): Promise<Approval | undefined> {
  if (!(await move())) return undefined;
  const movedApproval = await findApproval(tx, key);
  if (!movedApproval) throw new Error('an approval that was just moved is gone');
  for (const announcement of announcementsOf(movedApproval))
    await storeAnnouncement(tx, announcement);
  return movedApproval;
}
