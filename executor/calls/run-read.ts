import type { CallResult } from '#contracts/call';
import { AppError } from '#errors';
import type { ErrorCode } from '#errors';
import { appendEvent, createEvent } from '#events';
import { inSpan } from '#telemetry';
import type { Deps } from '../deps.ts';
import type { Credential } from '../domain/inject.ts';
import { deleteUnsentDispatch, finishDispatch } from '../repository/dispatch.ts';
import { outcomeEvent } from './audit-entry.ts';
import type { AuditedOutcome } from './audit-entry.ts';
import { claimRead } from './claim.ts';
import type { StoredOutcome } from './outcome.ts';
import { renewRefused } from './refused-token.ts';
import { audienceOf, withAuditId } from './run.ts';
import type { Executed, Run } from './run.ts';
import { sendRead } from './send.ts';
import type { Answer } from './send.ts';
import { shapeResult } from './shape-result.ts';

type ReadOutcome =
  | { kind: 'called'; result: CallResult }
  | { kind: 'failed'; error: AppError; durationMs: number };

/**
 * Runs a read. No row is written for it: its audit event goes straight to the stream, and the
 * answer waits until the stream has it. No audit, no answer.
 */
export async function runRead(deps: Deps, run: Run): Promise<Executed> {
  const auditId = run.permit.jti;
  const settings = deps.findOrgSettings(run.permit.orgId);
  const outcome = await inSpan('execution', {}, () => perform(deps, run));
  const audited = auditedOf(outcome);
  await inSpan('audit', {}, async () => record(deps, run, { audited, settings: await settings }));
  if (outcome.kind === 'failed') throw withAuditId(outcome.error, auditId);
  return { kind: 'called', result: outcome.result, auditId, replayed: false };
}

/**
 * Runs an approved read. The executor that inserts the dispatch row sends it; later requests for the
 * same replay get the stored outcome. It is sent again only by an executor that takes over the row
 * of one that died.
 */
export async function runApprovedRead(deps: Deps, run: Run): Promise<Executed> {
  const claim = await claimRead(deps, run);
  if (claim.kind === 'answered') return claim.executed;
  using _lease = claim.lease;
  const outcome = await inSpan('execution', {}, () => perform(deps, run));
  await inSpan('audit', {}, () => finish(deps, run, { leaseToken: claim.leaseToken, outcome }));
  const auditId = run.permit.jti;
  if (outcome.kind === 'failed') throw withAuditId(outcome.error, auditId);
  return { kind: 'called', result: outcome.result, auditId, replayed: false };
}

/** These are no end: they are asked about again. */
const passingCodes: readonly ErrorCode[] = ['unavailable', 'rate_limited'];

/** Commits what became of it with its audit event, also where another executor has taken it over by now. */
async function finish(
  { db }: Deps,
  { permit, entry }: Run,
  { leaseToken, outcome }: { leaseToken: string; outcome: ReadOutcome },
): Promise<void> {
  const { orgId, dispatchId, jti: auditId } = permit;
  const mine = { orgId, dispatchId, leaseToken };
  const parts = { orgId, auditId, audience: audienceOf(permit), entry };
  const stored = JSON.stringify(storedOf(outcome));
  await db.transaction(async (tx) => {
    if (outcome.kind === 'failed' && passingCodes.includes(outcome.error.code)) {
      await deleteUnsentDispatch(tx, mine);
    } else {
      await finishDispatch(tx, { ...mine, outcome: stored });
    }
    await appendEvent(tx, outcomeEvent(parts, auditedOf(outcome)));
  });
}

function storedOf(outcome: ReadOutcome): StoredOutcome {
  if (outcome.kind === 'called') return outcome;
  const { code, message, details } = outcome.error;
  return { kind: 'failed', code, message, details };
}

function auditedOf(outcome: ReadOutcome): AuditedOutcome {
  if (outcome.kind === 'called') return outcome;
  return { kind: 'failed', code: outcome.error.code, durationMs: outcome.durationMs };
}

async function perform(deps: Deps, run: Run): Promise<ReadOutcome> {
  const startedAt = performance.now();
  try {
    const { answer, credentials } = await sendWithLiveToken(deps, run);
    const durationMs = performance.now() - startedAt;
    const shaping = { ...run, credentials, answer, durationMs };
    return { kind: 'called', result: await shapeResult(deps, shaping) };
  } catch (thrown) {
    return {
      kind: 'failed',
      error: AppError.from(thrown),
      durationMs: performance.now() - startedAt,
    };
  }
}

/** Sends it once more when the upstream refused its access token and there is another one. */
async function sendWithLiveToken(
  deps: Deps,
  run: Run,
): Promise<{ answer: Answer; credentials: readonly Credential[] }> {
  const endsAt = performance.now() + run.timeoutMs;
  const leftMs = () => endsAt - performance.now();
  const answer = await sendRead(deps, run);
  const refused = { status: answer.status, leftMs: leftMs() };
  const renewed = await renewRefused(deps, run, refused).catch((thrown: unknown) => {
    answer.stream?.destroy();
    throw thrown;
  });
  if (renewed === undefined) return { answer, credentials: run.credentials };
  answer.stream?.destroy();
  const again = { ...run, credentials: renewed, timeoutMs: Math.max(1, leftMs()) };
  // Whichever of the tokens the upstream repeats is removed.
  return { answer: await sendRead(deps, again), credentials: [...run.credentials, ...renewed] };
}

async function record(
  deps: Deps,
  { permit, entry }: Run,
  {
    audited,
    settings,
  }: { audited: AuditedOutcome; settings: { durableReadAudit: boolean } | undefined },
): Promise<void> {
  const parts = { orgId: permit.orgId, auditId: permit.jti, audience: audienceOf(permit), entry };
  const event = outcomeEvent(parts, audited);
  // Not knowing the org's wish, we take the way that would satisfy either.
  if (settings === undefined || settings.durableReadAudit) {
    await deps.db.transaction((tx) => appendEvent(tx, event));
    return;
  }
  await deps.publisher.publish(createEvent(event));
}
