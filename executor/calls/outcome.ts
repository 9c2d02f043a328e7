import type { CallResult } from '#contracts/call';
import { AppError, isErrorCode } from '#errors';
import type { ErrorDetails } from '#errors';
import { appendEvent } from '#events';
import type { AuditEntry } from '#contracts/audit';
import type { Database } from '#database';
import { findDispatch, settleAbandonedDispatch } from '../repository/dispatch.ts';
import { outcomeEvent } from './audit-entry.ts';
import { outcomeUnknown } from './run.ts';
import type { Executed } from './run.ts';

/** What became of a dispatch, as it is stored for whoever asks again. */
export type StoredOutcome =
  | { readonly kind: 'called'; readonly result: CallResult }
  | {
      readonly kind: 'failed';
      readonly code: string;
      readonly message: string;
      readonly details: ErrorDetails;
    }
  | { readonly kind: 'unknown' };

interface SecondAttempt {
  readonly orgId: string;
  readonly dispatchId: string;
  readonly callDigest: string;
  /** What to say when the dispatch was of another call. */
  readonly otherCall: 'idempotency_key_reused' | 'approval_stale';
}

/** Answers a second attempt of a dispatch with what became of the first one. Never sends anything. */
export async function answerSecondAttempt(
  db: Database,
  { orgId, dispatchId, callDigest, otherCall }: SecondAttempt,
): Promise<Executed> {
  const found = await findDispatch(db, { orgId, dispatchId });
  if (found === undefined) throw inProgress(); // It has just been taken back, because nothing left.
  if (found.callDigest !== callDigest) throw differentCall(otherCall);
  if (found.outcome === null) {
    if (found.isLeaseAlive || found.mayRepeat) throw inProgress();
    await settleAbandoned(db, { orgId, dispatchId });
    throw outcomeUnknown(found.auditId);
  }
  const outcome = JSON.parse(found.outcome) as StoredOutcome;
  if (outcome.kind === 'called') {
    return { kind: 'called', result: outcome.result, auditId: found.auditId, replayed: true };
  }
  if (outcome.kind === 'unknown') throw outcomeUnknown(found.auditId);
  throw new AppError(isErrorCode(outcome.code) ? outcome.code : 'internal', outcome.message, {
    details: { ...outcome.details, audit_id: found.auditId },
  });
}

/** Calls the outcome of a silent executor's dispatch unknown, and says so in the audit log; exactly once, whoever tries. */
export async function settleAbandoned(
  db: Database,
  { orgId, dispatchId }: { orgId: string; dispatchId: string },
): Promise<boolean> {
  const outcome: StoredOutcome = { kind: 'unknown' };
  return db.transaction(async (tx) => {
    const settled = await settleAbandonedDispatch(tx, {
      orgId,
      dispatchId,
      outcome: JSON.stringify(outcome),
    });
    if (settled === undefined) return false;
    const { auditId, audience } = settled;
    const entry = JSON.parse(settled.audit) as AuditEntry;
    const unknown = { kind: 'failed', code: 'outcome_unknown', durationMs: null } as const;
    await appendEvent(tx, outcomeEvent({ orgId, auditId, audience, entry }, unknown));
    return true;
  });
}

export function differentCall(code: 'idempotency_key_reused' | 'approval_stale'): AppError {
  return code === 'idempotency_key_reused'
    ? new AppError(
        code,
        'This idempotency key belongs to another call of the last 24 hours; use a new one.',
      )
    : new AppError(
        code,
        'What was approved is no longer what would be sent; ask for approval again.',
      );
}

export function inProgress(): AppError {
  return new AppError(
    'execution_in_progress',
    'This call is under way; ask again shortly for its outcome.',
    {
      details: { retry_after: 1 },
    },
  );
}
