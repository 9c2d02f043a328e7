import type { CallResult } from '#contracts/call';
import { AppError } from '#errors';
import type { ErrorCode } from '#errors';
import { appendEvent, createEvent } from '#events';
import { inSpan } from '#telemetry';
import type { Deps } from '../deps.ts';
import type { Credential } from '../request/domain/inject.ts';
import { deleteUnsentDispatch, finishDispatch } from './dispatch.sql.ts';
import { createOutcomeEvent } from './audit-entry.ts';
import type { AuditedOutcome } from './audit-entry.ts';
import { claimRead } from './claim-dispatch.ts';
import { noteCredentials, noteRefused } from './note-credentials.ts';
import type { StoredOutcome } from './outcome.ts';
import { renewCredentials } from '../sending/renew-credentials.ts';
import { requireAudit } from './require-audit.ts';
import { audienceOf, withAuditId } from './run.ts';
import type { RunOutcome, Run } from './run.ts';
import { sendRead } from '../sending/send.ts';
import type { Answer } from '../sending/sending.ts';
import { shapeResult } from '../results/shape-result.ts';

type ReadOutcome =
  | { kind: 'called'; result: CallResult }
  | { kind: 'failed'; error: AppError; durationMs: number };

/**
 * Runs a read. It has no dispatch row: its audit event is published to the stream directly. The
 * caller gets the answer only after the event is stored in the stream, or in the outbox if the
 * stream does not accept it. If storing fails, the call fails.
 */
export async function runRead(deps: Deps, run: Run): Promise<RunOutcome> {
  requireAudit(deps);
  const auditId = run.permit.jti;
  const settings = deps.findOrgSettings(run.permit.orgId);
  const outcome = await inSpan('execution', {}, () => performRead(deps, run));
  const outcomeForAudit = auditedOutcomeOf(outcome);
  await inSpan('audit', {}, async () =>
    recordRead(deps, run, { audited: outcomeForAudit, settings: await settings }),
  );
  if (outcome.kind === 'failed') throw withAuditId(outcome.error, auditId);
  return { kind: 'called', result: outcome.result, auditId, replayed: false };
}

/**
 * Runs an approved read. The executor that inserts the dispatch row sends the read; later requests
 * for the same replay get the stored outcome. If that executor dies, another one may take over its
 * row and send the read again.
 */
export async function runApprovedRead(deps: Deps, run: Run): Promise<RunOutcome> {
  requireAudit(deps);
  const claim = await claimRead(deps, run);
  if (claim.kind === 'answered') return claim.executed;
  using _lease = claim.lease;
  const outcome = await inSpan('execution', {}, () => performRead(deps, run));
  await inSpan('audit', {}, () => finishCall(deps, run, { leaseToken: claim.leaseToken, outcome }));
  const auditId = run.permit.jti;
  if (outcome.kind === 'failed') throw withAuditId(outcome.error, auditId);
  return { kind: 'called', result: outcome.result, auditId, replayed: false };
}

/** After one of these codes the approved read may be repeated under the same dispatch id. */
const retryableCodes: readonly ErrorCode[] = ['unavailable', 'rate_limited'];

/**
 * Commits the outcome with its audit event. The event is written even when another executor has
 * taken over the dispatch, because this executor has sent the read too.
 */
async function finishCall(
  { db }: Deps,
  { permit, entry }: Run,
  { leaseToken, outcome }: { leaseToken: string; outcome: ReadOutcome },
): Promise<void> {
  const { orgId, dispatchId, jti: auditId } = permit;
  const ownDispatch = { orgId, dispatchId, leaseToken };
  const eventParts = { orgId, auditId, audience: audienceOf(permit), entry };
  const storedOutcome = JSON.stringify(storedOutcomeOf(outcome));
  await db.transaction(async (tx) => {
    if (outcome.kind === 'failed' && retryableCodes.includes(outcome.error.code)) {
      await deleteUnsentDispatch(tx, ownDispatch);
    } else {
      await finishDispatch(tx, { ...ownDispatch, outcome: storedOutcome });
    }
    await appendEvent(tx, createOutcomeEvent(eventParts, auditedOutcomeOf(outcome)));
  });
}

function storedOutcomeOf(outcome: ReadOutcome): StoredOutcome {
  if (outcome.kind === 'called') return outcome;
  const { code, message, details } = outcome.error;
  return { kind: 'failed', code, message, details };
}

function auditedOutcomeOf(outcome: ReadOutcome): AuditedOutcome {
  if (outcome.kind === 'called') return outcome;
  return { kind: 'failed', code: outcome.error.code, durationMs: outcome.durationMs };
}

async function performRead(deps: Deps, run: Run): Promise<ReadOutcome> {
  const startedAt = performance.now();
  try {
    const { answer, credentials, carriedCredentials: carried } = await sendWithLiveToken(deps, run);
    const durationMs = performance.now() - startedAt;
    const result = await shapeResult(deps, { ...run, credentials, answer, durationMs });
    // A download that was redirected to another origin goes there without credentials.
    const isRedirectedElsewhere = () =>
      new URL(answer.url).origin !== new URL(run.prepared.request.url).origin;
    if (result.failure === undefined || !isRedirectedElsewhere()) {
      await noteCredentials(deps, run, { credentials: carried, failure: result.failure });
    }
    return { kind: 'called', result };
  } catch (error) {
    return {
      kind: 'failed',
      error: AppError.from(error),
      durationMs: performance.now() - startedAt,
    };
  }
}

/**
 * Sends the read once more when the upstream refused its access token and another token is
 * available.
 */
async function sendWithLiveToken(
  deps: Deps,
  run: Run,
): Promise<{
  answer: Answer;
  /** All credentials that the answer may repeat. */
  credentials: readonly Credential[];
  /** The credentials that the answered request carried. */
  carriedCredentials: readonly Credential[];
}> {
  const endsAt = performance.now() + run.timeoutMs;
  const leftMs = () => endsAt - performance.now();
  const answer = await sendRead(deps, run);
  const refusedAnswer = { status: answer.status, leftMs: leftMs() };
  const refusedRun = { ...run, onRefused: noteRefused(deps, run) };
  const renewedCredentials = await renewCredentials(deps, refusedRun, refusedAnswer).catch(
    (error: unknown) => {
      answer.stream?.destroy();
      throw error;
    },
  );
  if (renewedCredentials === undefined)
    return { answer, credentials: run.credentials, carriedCredentials: run.credentials };
  answer.stream?.destroy();
  const repeatedRun = { ...run, credentials: renewedCredentials, timeoutMs: Math.max(1, leftMs()) };
  // The upstream may repeat the old or the new token, so both are removed from the answer.
  return {
    answer: await sendRead(deps, repeatedRun),
    credentials: [...run.credentials, ...renewedCredentials],
    carriedCredentials: renewedCredentials,
  };
}

async function recordRead(
  deps: Deps,
  { permit, entry }: Run,
  {
    audited,
    settings,
  }: { audited: AuditedOutcome; settings: { durableReadAudit: boolean } | undefined },
): Promise<void> {
  const eventParts = {
    orgId: permit.orgId,
    auditId: permit.jti,
    audience: audienceOf(permit),
    entry,
  };
  // Another executor may run the same read, if this executor is believed dead.
  const id = deps.recordIds.ofRead(permit.jti);
  const event = { ...createOutcomeEvent(eventParts, audited), id };
  // When auth does not answer, the event is written durably, which is right for either setting of
  // an org.
  if (settings === undefined || settings.durableReadAudit) {
    await deps.db.transaction((tx) => appendEvent(tx, event));
    return;
  }
  try {
    await deps.publisher.publish(createEvent(event));
  } catch {
    // The read was sent, so its record must not be lost when publishing fails. When the relay
    // publishes the record from the outbox, it learns that AUDIT is full, and no further read is
    // sent. If the stream has the event already, it recognises the id.
    await deps.db.transaction((tx) => appendEvent(tx, event));
  }
}
