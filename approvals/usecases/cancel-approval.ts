import type { StoredApproval } from '#contracts/card';
import type { CallContext } from '#contracts/vocabulary';
import type { Deps } from '../deps.ts';
import { actorOf } from '../domain/announce.ts';
import { presentApproval } from '../domain/present.ts';
import { alreadyResolved, notFound } from '../domain/refusals.ts';
import { notInYourChain, relationshipTo } from '../domain/relationship.ts';
import { findApproval } from '../repository/approval.ts';
import { denyApproval } from '../transitions/approval.ts';
import { cancelExecution } from '../transitions/execution.ts';

/** Withdraws an open approval, or stops an allowed call that nobody has started. */
export async function cancelApproval(
  { db, logger, readPrincipal }: Deps,
  { principal: signed, id, context }: { principal: string; id: string; context: CallContext },
): Promise<StoredApproval> {
  const caller = readPrincipal(signed);
  const key = { orgId: caller.orgId, approvalId: id };
  const approval = await findApproval(db, key);
  if (!approval) throw notFound();
  const relationship = relationshipTo(approval, caller);
  if (relationship === 'not_in_your_chain' || caller.role === 'auditor') throw notInYourChain();

  const actor = actorOf(caller, context);
  const cancelled =
    (await denyApproval(db, key, { actor, resolution: null, reason: 'cancelled' })) ??
    (await cancelExecution(db, key, actor));
  if (!cancelled) throw alreadyResolved((await findApproval(db, key)) ?? approval);
  logger.info({ approvalId: id, status: cancelled.status }, 'approval cancelled');
  return presentApproval(cancelled, relationship);
}
