import { blankAuditEntry } from '#contracts/audit';
import type { AuditEntry } from '#contracts/audit';
import type { Call } from '#contracts/call';
import type { EventType } from '#contracts/events';
import type { CallContext, Principal, Risk } from '#contracts/vocabulary';
import { createEvent } from '#events';
import type { Publisher } from '#events';
import type { AuditShare } from '#shares';
import { inSpan } from '#telemetry';
import type { Logger } from '#telemetry';
import type { Caller } from './authenticate.ts';

/** What policy says about a call it decided. */
interface Summary {
  readonly service: string;
  readonly template: string | null;
  readonly action: string;
  readonly permissionKeys: readonly string[];
  readonly risk: Risk;
  readonly description: string;
}

interface Recording {
  readonly caller: Caller;
  readonly context: CallContext;
}

/**
 * The fifth layer for a call that a rule or a person denied: no other component saw it, so the
 * gateway writes its audit event. Throws `unavailable` when it cannot be stored.
 */
export async function recordDenied(
  { publisher, auditShare }: { publisher: Publisher; auditShare: AuditShare },
  {
    caller,
    context,
    summary,
    reason,
    approvalId,
  }: Recording & { summary: Summary; reason: string; approvalId: string | null },
): Promise<void> {
  const entry: AuditEntry = {
    ...entryOf(caller.claims, context, `Denied: ${summary.description} (${reason})`),
    ...factsOf(summary),
    outcome: 'denied',
    approval_id: approvalId,
  };
  auditShare.count(caller.claims, entry);
  await publishEntry(publisher, caller.claims, { type: 'action.denied', entry });
}

/**
 * The caller is answered that the outcome is unknown, though the record of whoever made the call may
 * still come: so what the answer names can be looked up in either case. The answer is given even if
 * this cannot be stored: nothing may look like a safe retry.
 */
export async function recordUnanswered(
  { publisher, logger }: { publisher: Publisher; logger: Pick<Logger, 'error'> },
  { caller, context, summary, auditId }: Recording & { summary: Summary; auditId: string },
): Promise<void> {
  const entry: AuditEntry = {
    ...entryOf(caller.claims, context, `No answer: ${summary.description}`),
    ...factsOf(summary),
    outcome: 'outcome_unknown',
    error: 'outcome_unknown',
    call_id: auditId,
  };
  try {
    await publishEntry(publisher, caller.claims, { type: 'action.unanswered', entry });
  } catch (error) {
    logger.error({ err: error, auditId }, 'a lost answer could not be recorded');
  }
}

/** Stores a record of the gateway's own. Throws `unavailable` when it cannot be stored. */
export function publishEntry(
  publisher: Publisher,
  claims: Principal,
  { type, entry }: { type: EventType; entry: AuditEntry },
): Promise<void> {
  const event = createEvent({
    type,
    orgId: claims.orgId,
    audience: claims.chain.map((link) => link.id),
    data: { service: entry.service, action: entry.action },
    audit: entry,
  });
  return inSpan('audit', {}, () => publisher.publish(event));
}

/** What every record of the gateway says of the caller. */
export function entryOf(claims: Principal, context: CallContext, description: string): AuditEntry {
  const { credential, chain } = claims;
  return {
    ...blankAuditEntry(description.slice(0, 2000)),
    user_id: claims.userId,
    identity: {
      id: claims.identityId,
      kind: claims.kind,
      name: chain.at(-1)?.name ?? '',
      path: chain.map((link) => link.name),
    },
    credential: { kind: credential.kind, id: credential.id, client_id: credential.clientId },
    request_id: context.requestId,
    trace_id: context.traceId,
    ip: context.ip,
  };
}

export function factsOf(summary: Summary): Partial<AuditEntry> {
  return {
    service: summary.service,
    template: summary.template,
    action: summary.action,
    permission_keys: [...summary.permissionKeys],
    risk: summary.risk,
  };
}

/** A refused call was never resolved: what it named is all there is. Nothing of its body is kept. */
export function asAsked(call: Call): Partial<AuditEntry> {
  return {
    service: call.service,
    action: call.kind === 'action' ? call.action : call.method,
  };
}
