import { setTimeout as delay } from 'node:timers/promises';

import type { Deadline } from '#bus';
import type { StoredApproval } from '#contracts/card';
import type { CallContext } from '#contracts/vocabulary';
import { AppError } from '#errors';
import type { DepsWithReplays } from '../deps.ts';
import { actorOf } from '../domain/announce.ts';
import { isOpen } from '../domain/approval.ts';
import type { Approval } from '../domain/approval.ts';
import { presentApproval } from '../domain/present.ts';
import { expired, inProgress, notFound, storedError } from '../domain/refusals.ts';
import { notInYourChain, relationshipTo } from '../domain/relationship.ts';
import { findApproval } from '../repository/approval.ts';

const marginMs = 500;

/**
 * Runs an allowed call that has not run, for somebody above the requester or the requester
 * itself; answers with its end state. One that has ended already is answered the same way.
 */
export async function runApproval(
  deps: DepsWithReplays,
  { principal: signed, id, context }: { principal: string; id: string; context: CallContext },
  deadline: Deadline,
): Promise<StoredApproval> {
  const caller = deps.readPrincipal(signed);
  const key = { orgId: caller.orgId, approvalId: id };
  const approval = await findApproval(deps.db, key);
  if (!approval) throw notFound();
  const relationship = relationshipTo(approval, caller);
  if (relationship === 'not_in_your_chain' || caller.role === 'auditor') throw notInYourChain();
  assertAllowed(approval);

  if (approval.execution?.status === 'pending') {
    const trigger = caller.kind === 'user' ? 'user' : 'agent';
    const running = deps.replays.run({ ...key, trigger, actor: actorOf(caller, context) });
    await Promise.race([
      running,
      delay(Math.max(0, deadline.remainingMs() - marginMs), undefined, { ref: false }),
    ]);
  }
  const ended = (await findApproval(deps.db, key)) ?? approval;
  assertAllowed(ended);
  if (ended.execution?.finishedAt === null) throw inProgress(id);
  const { error } = ended.execution ?? {};
  if (error?.error === 'approval_stale') throw storedError(error);
  return presentApproval(ended, relationship);
}

function assertAllowed(approval: Approval): void {
  if (approval.status === 'expired' || approval.execution?.status === 'expired') throw expired();
  if (approval.status === 'allowed' && approval.execution?.status !== 'cancelled') return;
  const sentence = isOpen(approval)
    ? 'This approval is not decided yet; allow it first.'
    : `This approval is ${approval.execution?.status ?? approval.status}, so its call cannot be run.`;
  throw new AppError('conflict', sentence, { details: { status: approval.status } });
}
