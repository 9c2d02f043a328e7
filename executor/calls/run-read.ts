import type { CallResult } from '#contracts/call';
import { AppError } from '#errors';
import { appendEvent, createEvent } from '#events';
import { inSpan } from '#telemetry';
import type { Deps } from '../deps.ts';
import { outcomeEvent } from './audit-entry.ts';
import type { AuditedOutcome } from './audit-entry.ts';
import { audienceOf, withAuditId } from './run.ts';
import type { Executed, Run } from './run.ts';
import { sendRead } from './send.ts';
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
    const answer = await sendRead(deps, run);
    const durationMs = performance.now() - startedAt;
    return { kind: 'called', result: await shapeResult(deps, { ...run, answer, durationMs }) };
  } catch (thrown) {
    return {
      kind: 'failed',
      error: AppError.from(thrown),
      durationMs: performance.now() - startedAt,
    };
  }
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
