import { v7 as uuidv7 } from 'uuid';

import type { Deadline } from '#bus';
import type { CallResult } from '#contracts/call';
import { AppError } from '#errors';
import { appendEvent, prepareEvent } from '#events';
import { inSpan } from '#telemetry';
import type { Deps } from '../deps.ts';
import { deleteUnsentDispatch, findDispatch } from './dispatch.sql.ts';
import { releaseIdempotencyKey } from './idempotency.sql.ts';
import { createOutcomeEvent } from './audit-entry.ts';
import type { AuditedOutcome } from './audit-entry.ts';
import { callToolOnce } from '../sending/call-tool.ts';
import { claimDispatch, keyDigestOf } from './claim-dispatch.ts';
import type { Claim } from './claim-dispatch.ts';
import { awaitInTime, unsentError } from './in-time.ts';
import { noteCredentials, noteRefused } from './note-credentials.ts';
import { inProgressError } from './outcome.ts';
import type { StoredOutcome } from './outcome.ts';
import { renewCredentials } from '../sending/renew-credentials.ts';
import { audienceOf, outcomeUnknownError, withAuditId } from './run.ts';
import type { RunOutcome, Run } from './run.ts';
import { sendOnce } from '../sending/send.ts';
import type { Answer } from '../sending/sending.ts';
import { findFailureByStatus } from '../results/find-failure.ts';
import { shapeResult } from '../results/shape-result.ts';
import { shapeToolResult } from '../results/shape-tool-result.ts';

/**
 * The longest time for getting a new token. The caller waits meanwhile, although its answer is
 * already stored.
 */
const renewMsMax = 3_000;
/**
 * The maximum number of attempts to store an outcome while the database is unreachable, 250 ms
 * apart.
 */
const recordAttemptsMax = 12;
/**
 * Less than the extra time that the gateway gives the executor, in addition to the time limit of
 * the upstream.
 */
const claimMsMax = 4_000;

interface EndedCall {
  readonly stored: StoredOutcome;
  readonly audited: AuditedOutcome;
  /** True when nothing was sent, so that the dispatch id may be used for another attempt. */
  readonly release: boolean;
  readonly error?: AppError;
}

/**
 * Runs a non-read at most once. The dispatch row and the intent event are committed before the
 * first byte is sent, and the outcome before the caller gets its answer. An outcome that cannot be
 * known stays `outcome_unknown` (docs/reference/approvals.md#at-most-once).
 */
export async function runNonRead(deps: Deps, run: Run, deadline: Deadline): Promise<RunOutcome> {
  const claim = await claimInTime(deps, run, deadline);
  if (claim.kind === 'answered') return claim.executed;
  using lease = claim.lease;
  const outcome = await inSpan('execution', {}, () =>
    performCall(deps, run, () => lease.requireAlive()),
  );
  await inSpan('audit', {}, () =>
    recordOutcome(deps, run, { leaseToken: claim.leaseToken, ended: outcome }),
  );

  const auditId = run.permit.jti;
  if (outcome.stored.kind === 'called') {
    const { result } = outcome.stored;
    if (!(await renewRefusedToken(deps, run, result))) {
      await noteCredentials(deps, run, { credentials: run.credentials, failure: result.failure });
    }
    return { kind: 'called', result: outcome.stored.result, auditId, replayed: false };
  }
  if (outcome.stored.kind === 'unknown' || !outcome.error)
    throw outcomeUnknownError(auditId, outcome.error);
  if (outcome.error.details['status_code'] === 401 && run.prepared.tool !== undefined) {
    // The MCP server refused the token, so it has not called the tool. `renewCredentials` throws
    // when only the owner of the connection can solve the problem.
    const renewed = await renew(deps, run, 401);
    if (renewed === undefined) {
      const failure = { kind: 'credential_refused' } as const;
      await noteCredentials(deps, run, { credentials: run.credentials, failure });
    }
  }
  throw withAuditId(outcome.error, auditId);
}

/**
 * Claims the dispatch, or throws an error that says that nothing was sent. Nothing was sent in any
 * failure here, even if it is unknown whether the row was committed.
 */
async function claimInTime(deps: Deps, run: Run, deadline: Deadline): Promise<Claim> {
  const leaseToken = uuidv7();
  const pendingClaim = claimDispatch(deps, run, leaseToken);
  try {
    return await awaitInTime(pendingClaim, deadline, claimMsMax);
  } catch (thrown) {
    const error = AppError.from(thrown);
    const { dispatchId } = run.permit;
    if (error.code === 'internal') {
      deps.logger.error({ err: error.cause ?? error, dispatchId }, 'call could not be recorded');
    }
    void releaseUnsentClaim(deps, run, { leaseToken, pendingClaim });
    const isMarkedUnsent = error.details['unsent'] === true;
    throw !isMarkedUnsent && ['internal', 'unavailable'].includes(error.code)
      ? unsentError(error)
      : error;
  }
}

/**
 * Releases a dispatch whose caller has got a refusal: it was claimed too late, or the connection was
 * lost before the database could say whether it is claimed.
 */
async function releaseUnsentClaim(
  deps: Deps,
  run: Run,
  { leaseToken, pendingClaim }: { leaseToken: string; pendingClaim: Promise<Claim> },
): Promise<void> {
  try {
    const claim = await pendingClaim.catch((error: unknown) => {
      if (AppError.from(error).code !== 'unavailable') throw error;
      return { kind: 'unknown' } as const;
    });
    if (claim.kind === 'answered') return;
    if (claim.kind === 'claimed') claim.lease[Symbol.dispose]();
    const { code, message, details } = unsentError();
    const ended: EndedCall = {
      stored: { kind: 'failed', code, message, details },
      audited: { kind: 'failed', code, durationMs: 0 },
      release: true,
    };
    const mayBeMissing = claim.kind === 'unknown';
    await recordOutcome(deps, run, { leaseToken, ended, mayBeMissing });
  } catch {
    // Without a row there is nothing to release; a row that stays is settled when its lease ends.
  }
}

/**
 * Gets a new token after the upstream refused the current one. This call is never sent again, but
 * the next call must not fail for the same reason. False when the next call would carry the same
 * token.
 */
async function renewRefusedToken(
  deps: Deps,
  run: Run,
  { status_code }: CallResult,
): Promise<boolean> {
  try {
    return (await renew(deps, run, status_code)) !== undefined;
  } catch {
    // The state of the credential already shows the problem, and this call already has its answer.
    return true;
  }
}

function renew(deps: Deps, run: Run, status: number): ReturnType<typeof renewCredentials> {
  const refusedRun = { ...run, onRefused: noteRefused(deps, run) };
  return renewCredentials(deps, refusedRun, { status, leftMs: renewMsMax });
}

async function performCall(deps: Deps, run: Run, beforeSend: () => void): Promise<EndedCall> {
  const startedAt = performance.now();
  const send = run.prepared.tool === undefined ? sendOnce : callToolOnce;
  const sendOutcome = await send(deps, run, beforeSend);
  const durationMs = performance.now() - startedAt;
  if (sendOutcome.kind === 'answered') {
    const result = await shapeAnswer(deps, run, { answer: sendOutcome.answer, durationMs });
    return {
      stored: { kind: 'called', result },
      audited: { kind: 'called', result },
      release: false,
    };
  }
  const { error } = sendOutcome;
  if (sendOutcome.kind === 'unknown') {
    const failureForAudit = { kind: 'failed', code: 'outcome_unknown', durationMs } as const;
    return { stored: { kind: 'unknown' }, audited: failureForAudit, release: false, error };
  }
  const { code, message, details } = error;
  return {
    stored: { kind: 'failed', code, message, details },
    audited: { kind: 'failed', code, durationMs },
    // A call with an idempotency key may be made again, and so may any call after `unavailable`.
    // Any other failure of an approved call is final.
    release: run.permit.idempotencyKey !== null || code === 'unavailable',
    error,
  };
}

/**
 * Shapes the upstream's answer. The upstream has acted, so the outcome is `called` even if shaping
 * fails, but without a body.
 */
async function shapeAnswer(
  deps: Deps,
  run: Run,
  { answer, durationMs }: { answer: Answer; durationMs: number },
): Promise<CallResult> {
  try {
    const answerToShape = { ...run, answer, durationMs };
    return await (run.prepared.tool === undefined ? shapeResult : shapeToolResult)(
      deps,
      answerToShape,
    );
  } catch (error) {
    deps.logger.error(
      { err: error, dispatchId: run.permit.dispatchId },
      'answer could not be shaped',
    );
    const omittedBody = { reason: 'incomplete', content_type: '', size: null } as const;
    const { status } = answer;
    const failure = findFailureByStatus({ ...run, answer });
    return {
      status_code: status,
      headers: {},
      body: null,
      duration_ms: durationMs,
      body_omitted: omittedBody,
      ...(failure ? { failure } : {}),
    };
  }
}

/**
 * Commits the outcome, or throws. If the database stays unreachable, the commit may have succeeded
 * all the same. If the call was approved, approvals asks again and gets the stored outcome. A
 * direct call gets no second request, so its answer is `outcome_unknown`.
 */
async function recordOutcome(
  deps: Deps,
  run: Run,
  {
    leaseToken,
    ended,
    mayBeMissing = false,
  }: {
    leaseToken: string;
    ended: EndedCall;
    /** Whether it is unknown that the dispatch was stored. */
    mayBeMissing?: boolean;
  },
): Promise<void> {
  const { jti, orgId, dispatchId } = run.permit;
  const outcome = JSON.stringify(ended.stored);
  for (let attempt = 1; ; attempt += 1) {
    try {
      if (await commitOutcome(deps, run, { leaseToken, ended, outcome })) return;
      // An earlier attempt may have been committed although the database's reply to it was lost.
      if (attempt > 1 || mayBeMissing) {
        const stored = await findDispatch(deps.db, { orgId, dispatchId });
        if (stored === undefined ? ended.release : stored.outcome === outcome) return;
      }
      deps.logger.warn({ dispatchId, reason: 'fence_lost' }, 'outcome was decided by another');
    } catch (error) {
      if (AppError.from(error).code === 'unavailable' && attempt < recordAttemptsMax) {
        await new Promise((resolve) => setTimeout(resolve, 250));
        continue;
      }
      deps.logger.error({ err: error, dispatchId }, 'outcome could not be recorded');
      if (run.permit.approvalId !== null) throw inProgressError();
    }
    throw outcomeUnknownError(jti);
  }
}

async function commitOutcome(
  { db, dispatchWrites }: Deps,
  { permit, entry }: Run,
  { leaseToken, ended, outcome }: { leaseToken: string; ended: EndedCall; outcome: string },
): Promise<boolean> {
  const { orgId, dispatchId, identityId, idempotencyKey, callDigest, approvalId } = permit;
  const parts = { orgId, auditId: permit.jti, audience: audienceOf(permit), entry };
  const outcomeEvent = createOutcomeEvent(parts, ended.audited);
  if (!ended.release) {
    const { row: event } = prepareEvent(outcomeEvent);
    return dispatchWrites.finish({ orgId, dispatchId, leaseToken, outcome, event });
  }
  return db.transaction(async (tx) => {
    if (!(await deleteUnsentDispatch(tx, { orgId, dispatchId, leaseToken }))) return false;
    const keepsIdempotencyKey = approvalId !== null && ended.error?.code === 'unavailable';
    if (idempotencyKey !== null && !keepsIdempotencyKey) {
      const keyDigest = keyDigestOf(idempotencyKey);
      await releaseIdempotencyKey(tx, { orgId, identityId, keyDigest, callDigest, approvalId });
    }
    await appendEvent(tx, outcomeEvent);
    return true;
  });
}
