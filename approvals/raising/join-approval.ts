import { setTimeout as delay } from 'node:timers/promises';

import { deadlineIn } from '#bus';
import type { Deadline } from '#bus';
import type { Call, CallOptions, CallResult } from '#contracts/call';
import type { Gap } from '#contracts/permit';
import type { CallContext } from '#contracts/vocabulary';
import { AppError } from '#errors';
import { findApproval } from '../approval/approval.sql.ts';
import type { Approval } from '../approval/domain/approval.ts';
import { callStateOf } from '../approval/domain/call-state.ts';
import type { CallState } from '../approval/domain/call-state.ts';
import { executionInProgressError } from '../approval/domain/refusals.ts';
import { traceApproval } from '../approval/trace-approval.ts';
import type { Deps } from '../deps.ts';

export interface RaiseRequest {
  readonly principal: string;
  readonly gap: string;
  readonly call: Call;
  readonly options: CallOptions;
  readonly context: CallContext;
}

/**
 * How long to wait for a concurrent request for the same call that has made its preview but not yet
 * stored its approval.
 */
const identicalCallWaitMs = 2_000;

interface JoiningCall {
  readonly request: RaiseRequest;
  readonly gap: Gap;
  /** The approval of the identical call. */
  readonly approval: Approval;
  /** The id under which this call's own approval was prepared but not stored. */
  readonly unstoredId?: string;
}

/**
 * Answers a call with the state of an identical call, after the executor has given the idempotency
 * key of this call to that approval. Without this, a repetition with the key would make the call
 * again once the approved call has ended. If the key was used before, answers with its first use.
 */
export async function joinApproval(
  deps: Deps,
  { request, gap, approval, unstoredId: preparedId }: JoiningCall,
  deadline: Deadline,
): Promise<CallState> {
  if (gap.idempotencyKey === null || !gap.nonRead) return ownCallStateOf(deps, approval);
  const joining = { request, approval };
  const holder = await giveKeyTo(deps, { ...joining, unstoredId: preparedId }, deadline);
  if (holder.kind === 'called') return calledStateOf(holder, gap);
  const isHolder = holder.approvalId === approval.id || holder.approvalId === preparedId;
  if (isHolder) return ownCallStateOf(deps, approval);
  const earlierApproval = await findOwnApproval(deps, gap, holder.approvalId);
  if (earlierApproval) return ownCallStateOf(deps, earlierApproval);
  if (isDenied(approval)) return ownCallStateOf(deps, approval);
  // That approval was prepared for this key and never stored: its process died, or joined this
  // approval too and has not given the key to it. So it must not keep the key.
  await giveKeyTo(deps, { ...joining, unstoredId: holder.approvalId }, deadline);
  return ownCallStateOf(deps, approval);
}

/** The state of what has the idempotency key of a call; waits for an approval that is being stored. */
export async function stateOfHolder(deps: Deps, gap: Gap, holder: KeyHolder): Promise<CallState> {
  if (holder.kind === 'called') return calledStateOf(holder, gap);
  const approval = await findOwnApproval(deps, gap, holder.approvalId);
  if (approval) return ownCallStateOf(deps, approval);
  throw executionInProgressError(holder.approvalId);
}

/**
 * Finds the approval that has the idempotency key of a call. Waits for a concurrent request for the
 * same call, which stores the approval right after its preview.
 */
export async function findOwnApproval(
  { db }: Deps,
  gap: Gap,
  approvalId: string,
): Promise<Approval | undefined> {
  const waitDeadline = deadlineIn(identicalCallWaitMs);
  for (;;) {
    const approval = await findApproval(db, { orgId: gap.orgId, approvalId });
    if (approval) assertOwnApproval(approval, gap);
    if (approval || waitDeadline.remainingMs() === 0) return approval;
    await delay(100);
  }
}

/** A denial answers identical calls for some minutes, and leaves the key for another attempt. */
const isDenied = ({ status }: Approval) => status === 'denied';

type KeyHolder =
  | { readonly kind: 'called'; readonly result: CallResult; readonly auditId: string }
  | { readonly kind: 'suspended'; readonly approvalId: string };

async function giveKeyTo(
  deps: Deps,
  {
    request,
    approval,
    unstoredId,
  }: { request: RaiseRequest; approval: Approval; unstoredId: string | undefined },
  deadline: Deadline,
): Promise<KeyHolder> {
  const joining = isDenied(approval) ? { isDenied: true } : { unstoredId };
  const { gap, call, options } = request;
  const approvalId = approval.id;
  try {
    const answer = await deps.executor.preview(
      { gap, call, options, approvalId, joining },
      deadline,
    );
    if (answer.kind === 'seen') return answer.outcome;
  } catch (error) {
    if (AppError.from(error).code !== 'unauthenticated') throw error;
  }
  // An executor of release 0.1.0 ignores `joining`: it refuses the key, or prepares the approval again
  // if the approval has the key. The call must not fail while both releases run.
  return { kind: 'suspended', approvalId };
}

/** The answer to the requester of an approval. */
export function ownCallStateOf({ baseUrl }: Deps, approval: Approval): CallState {
  traceApproval(approval);
  return callStateOf(approval, { baseUrl, relationship: 'self' });
}

function calledStateOf(
  { result, auditId }: { readonly result: CallResult; readonly auditId: string },
  { description }: Gap,
): CallState {
  return { kind: 'called', result, auditId, description };
}

/**
 * Throws if the approval belongs to another requester. Idempotency keys and ids already belong to
 * one requester each; this check still protects the approval if that fails.
 */
export function assertOwnApproval(approval: Approval, gap: Gap): void {
  if (approval.requesterId === gap.identityId) return;
  throw new AppError(
    'conflict',
    'The idempotency key is taken; make the call again with a new one.',
  );
}
