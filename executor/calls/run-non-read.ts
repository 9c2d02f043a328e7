import type { CallResult } from '#contracts/call';
import { AppError } from '#errors';
import { appendEvent } from '#events';
import { inSpan } from '#telemetry';
import type { Deps } from '../deps.ts';
import { deleteUnsentDispatch, findDispatch, finishDispatch } from '../repository/dispatch.ts';
import { releaseIdempotency } from '../repository/idempotency.ts';
import { outcomeEvent } from './audit-entry.ts';
import type { AuditedOutcome } from './audit-entry.ts';
import { callToolOnce } from './call-tool.ts';
import { claimDispatch, keyDigestOf } from './claim.ts';
import type { StoredOutcome } from './outcome.ts';
import { renewRefused } from './refused-token.ts';
import { audienceOf, outcomeUnknown, withAuditId } from './run.ts';
import type { Executed, Run } from './run.ts';
import { sendOnce } from './send.ts';
import type { Answer } from './send.ts';
import { shapeResult } from './shape-result.ts';
import { shapeToolResult } from './shape-tool-result.ts';

/** For asking the provider for another token, while the caller waits for an answer that is stored already. */
const replaceMsMax = 3_000;
/** How often a lost database is asked again to take an outcome, 250 ms apart. */
const recordAttemptsMax = 12;

interface Ended {
  readonly stored: StoredOutcome;
  readonly audited: AuditedOutcome;
  /** Nothing left, and the same id may be used for another attempt. */
  readonly release: boolean;
  readonly error?: AppError;
}

/**
 * Runs a non-read at most once. Its dispatch row and intent are committed before the first byte, its
 * outcome before the answer; what cannot be known stays `outcome_unknown`
 * (docs/reference/approvals.md#at-most-once).
 */
export async function runNonRead(deps: Deps, run: Run): Promise<Executed> {
  const claim = await claimDispatch(deps, run);
  if (claim.kind === 'answered') return claim.executed;
  using lease = claim.lease;
  const ended = await inSpan('execution', {}, () => perform(deps, run, () => lease.requireAlive()));
  await inSpan('audit', {}, () => record(deps, run, { leaseToken: claim.leaseToken, ended }));

  const auditId = run.permit.jti;
  if (ended.stored.kind === 'called') {
    await replaceRefused(deps, run, ended.stored.result);
    return { kind: 'called', result: ended.stored.result, auditId, replayed: false };
  }
  if (ended.stored.kind === 'unknown' || !ended.error) throw outcomeUnknown(auditId, ended.error);
  if (ended.error.details['status_code'] === 401 && run.prepared.tool !== undefined) {
    // Refused before the tool was called; says so where only the owner can help.
    await renewRefused(deps, run, { status: 401, leftMs: replaceMsMax });
  }
  throw withAuditId(ended.error, auditId);
}

/** It is never sent again; but the next call shall not fail on the token that this one failed on. */
async function replaceRefused(deps: Deps, run: Run, { status_code }: CallResult): Promise<void> {
  try {
    await renewRefused(deps, run, { status: status_code, leftMs: replaceMsMax });
  } catch {
    // The connection says so itself by now, and this call has its answer.
  }
}

async function perform(deps: Deps, run: Run, beforeSend: () => void): Promise<Ended> {
  const startedAt = performance.now();
  const send = run.prepared.tool === undefined ? sendOnce : callToolOnce;
  const sent = await send(deps, run, beforeSend);
  const durationMs = performance.now() - startedAt;
  if (sent.kind === 'answered') {
    const result = await shape(deps, run, { answer: sent.answer, durationMs });
    return {
      stored: { kind: 'called', result },
      audited: { kind: 'called', result },
      release: false,
    };
  }
  const { error } = sent;
  if (sent.kind === 'unknown') {
    const audited = { kind: 'failed', code: 'outcome_unknown', durationMs } as const;
    return { stored: { kind: 'unknown' }, audited, release: false, error };
  }
  const { code, message, details } = error;
  return {
    stored: { kind: 'failed', code, message, details },
    audited: { kind: 'failed', code, durationMs },
    // An execution's failure is final; a key may be used again, and `unavailable` is no end of anything.
    release: run.permit.idempotencyKey !== null || code === 'unavailable',
    error,
  };
}

/** Whatever the answer looks like, it has been given: the call is `called`, if need be without its body. */
async function shape(
  deps: Deps,
  run: Run,
  { answer, durationMs }: { answer: Answer; durationMs: number },
): Promise<CallResult> {
  try {
    const shaping = { ...run, answer, durationMs };
    return await (run.prepared.tool === undefined ? shapeResult : shapeToolResult)(deps, shaping);
  } catch (thrown) {
    deps.logger.error(
      { err: thrown, dispatchId: run.permit.dispatchId },
      'answer could not be shaped',
    );
    const omitted = { reason: 'incomplete', content_type: '', size: null } as const;
    const { status } = answer;
    return {
      status_code: status,
      headers: {},
      body: null,
      duration_ms: durationMs,
      body_omitted: omitted,
    };
  }
}

/** Commits the outcome, or leaves it to whoever finds the lease passed; then it is unknown to us as well. */
async function record(
  deps: Deps,
  run: Run,
  { leaseToken, ended }: { leaseToken: string; ended: Ended },
): Promise<void> {
  const { jti, orgId, dispatchId } = run.permit;
  const outcome = JSON.stringify(ended.stored);
  for (let attempt = 1; ; attempt += 1) {
    try {
      if (await commit(deps, run, { leaseToken, ended, outcome })) return;
      // An earlier attempt may have committed although its answer was lost.
      const found = attempt > 1 ? await findDispatch(deps.db, { orgId, dispatchId }) : undefined;
      if (attempt > 1 && (found === undefined ? ended.release : found.outcome === outcome)) return;
      deps.logger.warn({ dispatchId, reason: 'fence_lost' }, 'outcome was decided by another');
    } catch (thrown) {
      if (AppError.from(thrown).code === 'unavailable' && attempt < recordAttemptsMax) {
        await new Promise((resolve) => setTimeout(resolve, 250));
        continue;
      }
      deps.logger.error({ err: thrown, dispatchId }, 'outcome could not be recorded');
    }
    throw outcomeUnknown(jti);
  }
}

async function commit(
  { db }: Deps,
  { permit, entry }: Run,
  { leaseToken, ended, outcome }: { leaseToken: string; ended: Ended; outcome: string },
): Promise<boolean> {
  const { orgId, dispatchId, identityId, idempotencyKey, callDigest, approvalId } = permit;
  const parts = { orgId, auditId: permit.jti, audience: audienceOf(permit), entry };
  return db.transaction(async (tx) => {
    const isMine = ended.release
      ? await deleteUnsentDispatch(tx, { orgId, dispatchId, leaseToken })
      : await finishDispatch(tx, { orgId, dispatchId, leaseToken, outcome });
    if (!isMine) return false;
    const keepsKey = approvalId !== null && ended.error?.code === 'unavailable';
    if (ended.release && idempotencyKey !== null && !keepsKey) {
      const keyDigest = keyDigestOf(idempotencyKey);
      await releaseIdempotency(tx, { orgId, identityId, keyDigest, callDigest, approvalId });
    }
    await appendEvent(tx, outcomeEvent(parts, ended.audited));
    return true;
  });
}
