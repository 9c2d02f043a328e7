import type { CallResult } from '#contracts/call';
import { AppError, isErrorCode } from '#errors';
import type { ErrorDetails } from '#errors';
import { appendEvent } from '#events';
import type { AuditEntry } from '#contracts/audit';
import type { Database } from '#database';
import { findDispatch, settleAbandonedDispatch } from './dispatch.sql.ts';
import { createOutcomeEvent } from './audit-entry.ts';
import { outcomeUnknownError } from './run.ts';
import type { RunOutcome } from './run.ts';

/** The outcome of a dispatch, as it is stored for later attempts. */
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
  /** The error code for an attempt with the dispatch id of another call. */
  readonly otherCall: 'idempotency_key_reused' | 'approval_stale';
}

/**
 * Answers a second attempt of a call with the outcome of the first attempt. Never sends anything.
 */
export async function answerSecondAttempt(
  db: Database,
  { orgId, dispatchId, callDigest, otherCall }: SecondAttempt,
): Promise<RunOutcome> {
  const dispatch = await findDispatch(db, { orgId, dispatchId });
  if (dispatch === undefined) throw inProgressError(); // The first attempt sent nothing.
  if (dispatch.callDigest !== callDigest) throw differentCallError(otherCall);
  if (dispatch.outcome === null) {
    if (dispatch.isLeaseAlive || dispatch.mayRepeat) throw inProgressError();
    await settleAsUnknown(db, { orgId, dispatchId });
    throw outcomeUnknownError(dispatch.auditId);
  }
  const outcome = JSON.parse(dispatch.outcome) as StoredOutcome;
  if (outcome.kind === 'called') {
    return { kind: 'called', result: outcome.result, auditId: dispatch.auditId, replayed: true };
  }
  if (outcome.kind === 'unknown') throw outcomeUnknownError(dispatch.auditId);
  throw new AppError(isErrorCode(outcome.code) ? outcome.code : 'internal', outcome.message, {
    details: { ...outcome.details, audit_id: dispatch.auditId },
  });
}

/**
 * Sets the outcome of a dispatch whose executor has died to unknown, and records that in the audit
 * log exactly once.
 */
export async function settleAsUnknown(
  db: Database,
  { orgId, dispatchId }: { orgId: string; dispatchId: string },
): Promise<boolean> {
  const outcome: StoredOutcome = { kind: 'unknown' };
  return db.transaction(async (tx) => {
    const settledDispatch = await settleAbandonedDispatch(tx, {
      orgId,
      dispatchId,
      outcome: JSON.stringify(outcome),
    });
    if (settledDispatch === undefined) return false;
    const { auditId, audience } = settledDispatch;
    const auditEntry = JSON.parse(settledDispatch.audit) as AuditEntry;
    const unknownOutcome = { kind: 'failed', code: 'outcome_unknown', durationMs: null } as const;
    await appendEvent(
      tx,
      createOutcomeEvent({ orgId, auditId, audience, entry: auditEntry }, unknownOutcome),
    );
    return true;
  });
}

export function differentCallError(code: 'idempotency_key_reused' | 'approval_stale'): AppError {
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

export function inProgressError(): AppError {
  return new AppError(
    'execution_in_progress',
    'This call is under way; ask again shortly for its outcome.',
    {
      details: { retry_after: 1 },
    },
  );
}
