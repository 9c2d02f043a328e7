import { deadlineIn } from '#bus';
import type { FeedItem } from '#contracts/events';
import type { StoredApproval } from '#contracts/card';
import type { PendingApproval } from '#contracts/http/approvals';
import { AppError } from '#errors';
import type { CallDeps, CallOutcome, CallState, IncomingCall } from './call.ts';

/** The row is read again this often even if no event comes: the feed may be down while approvals is not. */
const rereadEveryMs = 5_000;
const resumeMsMax = 120_000;

/**
 * Holds a suspended call's answer until its approval is decided and replayed (without auto-call:
 * decided), or until the caller's patience, the caller or the gateway is gone; then the present
 * state is the answer. Nothing is kept here that matters: the approval is a row.
 */
export async function awaitDecision(
  deps: CallDeps,
  incoming: IncomingCall,
  state: CallState,
): Promise<CallOutcome> {
  if (state.kind !== 'pending' || incoming.waitMs === 0) return state;
  const untilMs = performance.now() + incoming.waitMs;
  let envelope = state.envelope;

  // Registered before the row is read, so that no decision falls between the two.
  const gone = incoming.signal();
  using news = listenFor(deps, gone, envelope.approval_id);
  for (;;) {
    const approval = await readApproval(deps, incoming, envelope.approval_id);
    if (approval !== null) {
      envelope = { ...envelope, expires_at: approval.expires_at };
      const progress = progressOf(approval);
      if (progress === 'settled') return settled(deps, incoming, envelope);
      if (progress === 'deferred') break;
    }
    const leftMs = untilMs - performance.now();
    if (leftMs <= 0 || gone.aborted || deps.stopping.aborted) break;
    await news.next(Math.min(leftMs, rereadEveryMs));
  }
  return { kind: 'pending', envelope };
}

/** `deferred`: allowed, and the requester itself runs it (docs/reference/approvals.md#execution). */
function progressOf(approval: StoredApproval): 'waiting' | 'settled' | 'deferred' {
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
          return approval.auto_call_on_approve ? 'waiting' : 'deferred';
        case 'executing':
        case undefined:
          return 'waiting';
        default:
          return 'settled';
      }
  }
}

/** The present row, or null when it cannot be read just now. */
async function readApproval(
  deps: CallDeps,
  incoming: IncomingCall,
  id: string,
): Promise<StoredApproval | null> {
  try {
    const { principal } = await incoming.authenticate();
    return await deps.approvals.get({ principal, id }, deadlineIn(2_000));
  } catch (thrown) {
    const error = AppError.from(thrown);
    if (error.code === 'unavailable') return null;
    throw error;
  }
}

/** At its end an approval's stored outcome is what `approval_id` alone is answered with. */
async function settled(
  deps: CallDeps,
  { authenticate, context }: IncomingCall,
  envelope: PendingApproval,
): Promise<CallOutcome> {
  const { principal } = await authenticate();
  const request = { principal, id: envelope.approval_id, context };
  return deps.approvals.resume(request, deadlineIn(resumeMsMax));
}

interface News extends Disposable {
  /** Resolves when something happened since it was last asked, or after `timeoutMs`. */
  next(timeoutMs: number): Promise<void>;
}

function listenFor(deps: CallDeps, gone: AbortSignal, approvalId: string): News {
  let happened = false;
  let wake: (() => void) | undefined;
  const tell = () => {
    happened = true;
    wake?.();
  };
  const subscription = deps.feed.subscribe((item) => {
    if (item === null || concerns(item, approvalId)) tell();
  });
  const ends = [gone, deps.stopping];
  for (const end of ends) end.addEventListener('abort', tell);
  return {
    async next(timeoutMs) {
      if (!happened) {
        let timer: NodeJS.Timeout | undefined;
        await new Promise<void>((resolve) => {
          wake = resolve;
          timer = setTimeout(resolve, timeoutMs);
        });
        clearTimeout(timer);
        wake = undefined;
      }
      happened = false;
    },
    [Symbol.dispose]() {
      subscription[Symbol.dispose]();
      for (const end of ends) end.removeEventListener('abort', tell);
    },
  };
}

function concerns({ event }: FeedItem, approvalId: string): boolean {
  if (event.type !== 'approval.resolved' && event.type !== 'execution.finished') return false;
  return event.data['approval_id'] === approvalId;
}
