import type { StoredApproval } from '#contracts/card';
import type { CallContext } from '#contracts/vocabulary';
import { findApproval } from '../approval/approval.sql.ts';
import { actorOf } from '../approval/domain/announcements.ts';
import { presentApproval } from '../approval/domain/present.ts';
import { alreadyResolvedError, approvalNotFoundError } from '../approval/domain/refusals.ts';
import { notInYourChainError, relationshipTo } from '../approval/domain/relationship.ts';
import type { Deps } from '../deps.ts';
import { cancelExecution } from '../executions/execution-moves.ts';
import { denyApproval } from './approval-moves.ts';

/** Cancels an open approval, or an allowed call that was not started. */
export async function cancelApproval(
  { db, logger, readPrincipal }: Deps,
  { principal: signed, id, context }: { principal: string; id: string; context: CallContext },
): Promise<StoredApproval> {
  const caller = readPrincipal(signed);
  const key = { orgId: caller.orgId, approvalId: id };
  const approval = await findApproval(db, key);
  if (!approval) throw approvalNotFoundError();
  const relationship = relationshipTo(approval, caller);
  if (relationship === 'not_in_your_chain' || caller.role === 'auditor')
    throw notInYourChainError();

  const actor = actorOf(caller, context);
  const cancelledApproval =
    (await denyApproval(db, key, { actor, resolution: null, reason: 'cancelled' })) ??
    (await cancelExecution(db, key, actor));
  if (!cancelledApproval) throw alreadyResolvedError((await findApproval(db, key)) ?? approval);
  logger.info({ approvalId: id, status: cancelledApproval.status }, 'approval cancelled');
  return presentApproval(cancelledApproval, relationship);
}
