import type { CallResult } from '#contracts/call';
import { AppError } from '#errors';
import { appendEvent, createEvent } from '#events';
import { inSpan } from '#telemetry';
import type { Deps } from '../deps.ts';
import type { Credential } from '../domain/inject.ts';
import { outcomeEvent } from './audit-entry.ts';
import type { AuditedOutcome } from './audit-entry.ts';
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
  const audited: AuditedOutcome =
    outcome.kind === 'called'
      ? outcome
      : { kind: 'failed', code: outcome.error.code, durationMs: outcome.durationMs };
  await inSpan('audit', {}, async () => record(deps, run, { audited, settings: await settings }));
  if (outcome.kind === 'failed') throw withAuditId(outcome.error, auditId);
  return { kind: 'called', result: outcome.result, auditId, replayed: false };
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
