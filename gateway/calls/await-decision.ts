import { deadlineIn } from '#bus';
import type { FeedItem } from '#contracts/events';
import type { StoredApproval } from '#contracts/card';
import type { PendingApproval } from '#contracts/http/approvals';
import { AppError } from '#errors';
import type { CallDeps, CallOutcome, CallState, IncomingCall } from './incoming-call.ts';
import { watchFeed } from './watch-feed.ts';

/**
 * The approval is read again at this interval even without an event, because the feed of events may
 * be down while the component approvals is up.
 */
const rereadEveryMs = 5_000;
const resumeMsMax = 120_000;

/**
 * Delays the answer to a suspended call until its approval is decided and the call was replayed.
 * Without auto-call, the answer is delayed only until the decision. If the waiting time ends, the
 * client disconnects or the gateway stops before that, the answer is the current state of the
 * approval. Nothing is lost if this process ends, because the approval is stored.
 */
export async function awaitDecision(
  deps: CallDeps,
  incomingCall: IncomingCall,
  state: CallState,
): Promise<CallOutcome> {
  if (state.kind !== 'pending' || incomingCall.waitMs === 0) return state;
  const untilMs = performance.now() + incomingCall.waitMs;
  let envelope = state.envelope;

  // Subscribing before the first read ensures that no decision is missed.
  const disconnectSignal = incomingCall.signal();
  const { approval_id: approvalId } = envelope;
  using changes = watchFeed(deps, disconnectSignal, (item) => concernsApproval(item, approvalId));
  for (;;) {
    const approval = await readApproval(deps, incomingCall, envelope.approval_id);
    if (approval !== null) {
      envelope = { ...envelope, expires_at: approval.expires_at };
      const progress = progressOf(approval);
      if (progress === 'settled') return getOutcome(deps, incomingCall, envelope);
      if (progress === 'left_to_requester') break;
    }
    const leftMs = untilMs - performance.now();
    if (leftMs <= 0 || disconnectSignal.aborted || deps.stopping.aborted) break;
    await changes.next(Math.min(leftMs, rereadEveryMs));
  }
  return { kind: 'pending', envelope };
}

/**
 * `left_to_requester` means that the call is allowed and that the requester has to run the call
 * itself (docs/reference/approvals.md#execution).
 */
function progressOf(approval: StoredApproval): 'waiting' | 'settled' | 'left_to_requester' {
  switch (approval.status) {
    case 'pending':
    case 'bubbled':
      return 'waiting';
    case 'denied':
    case 'expired':
      return 'settled';
    case 'allowed':
      switch (approval.execution?.status) {
        case 'pending':
          return approval.auto_call_on_approve ? 'waiting' : 'left_to_requester';
        case 'executing':
        case undefined:
          return 'waiting';
        default:
          return 'settled';
      }
  }
}

/** Returns the current approval, or null if the component approvals is unavailable. */
async function readApproval(
  deps: CallDeps,
  incomingCall: IncomingCall,
  id: string,
): Promise<StoredApproval | null> {
  try {
    const { principal } = await incomingCall.authenticate();
    return await deps.approvals.get({ principal, id }, deadlineIn(2_000));
  } catch (thrown) {
    const error = AppError.from(thrown);
    if (error.code === 'unavailable') return null;
    throw error;
  }
}

/** Returns the stored outcome. A call with only `approval_id` gets the same answer. */
async function getOutcome(
  deps: CallDeps,
  { authenticate, context }: IncomingCall,
  envelope: PendingApproval,
): Promise<CallOutcome> {
  const { principal } = await authenticate();
  const resumption = { principal, id: envelope.approval_id, context };
  return deps.approvals.resume(resumption, deadlineIn(resumeMsMax));
}

function concernsApproval({ event }: FeedItem, approvalId: string): boolean {
  if (event.type !== 'approval.resolved' && event.type !== 'execution.finished') return false;
  return event.data['approval_id'] === approvalId;
}
