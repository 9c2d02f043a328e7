import { blankAuditEntry } from '#contracts/audit';
import type { AuditEntry } from '#contracts/audit';
import type { Call } from '#contracts/call';
import type { EventType } from '#contracts/events';
import type { CallContext, Principal, Risk } from '#contracts/vocabulary';
import { createEvent } from '#events';
import type { Publisher } from '#events';
import type { AuditShare } from '#shares';
import { inLayer } from '#telemetry';
import type { Logger } from '#telemetry';
import type { Caller } from '../authentication/caller.ts';

/** What a decision of policy contains about the call. */
interface CallSummary {
  readonly service: string;
  readonly template: string | null;
  readonly action: string;
  readonly permissionKeys: readonly string[];
  readonly risk: Risk;
  readonly description: string;
}

interface RecordedRequest {
  readonly caller: Caller;
  readonly context: CallContext;
}

/**
 * Records a call that a rule or a person denied, which no other component records. Throws
 * `unavailable` if the record cannot be stored.
 */
export async function recordDenied(
  { publisher, auditShare }: { publisher: Publisher; auditShare: AuditShare },
  {
    caller,
    context,
    summary,
    reason,
    approvalId,
  }: RecordedRequest & { summary: CallSummary; reason: string; approvalId: string | null },
): Promise<void> {
  const auditEntry: AuditEntry = {
    ...createEntry(caller.claims, context, `Denied: ${summary.description} (${reason})`),
    ...fieldsOfDecision(summary),
    outcome: 'denied',
    approval_id: approvalId,
  };
  auditShare.count(caller.claims, auditEntry);
  await publishEntry(publisher, caller.claims, { type: 'action.denied', entry: auditEntry });
}

/**
 * Records that the caller was told `outcome_unknown`. The executor's own record may or may not
 * follow. With this record, the audit log contains the audit id of the answer in both cases. If
 * this record cannot be stored, the failure is only logged, because an error would tell the caller
 * that a retry is safe.
 */
export async function recordUnanswered(
  { publisher, logger }: { publisher: Publisher; logger: Pick<Logger, 'error'> },
  {
    caller,
    context,
    summary,
    auditId,
  }: RecordedRequest & { summary: CallSummary; auditId: string },
): Promise<void> {
  const auditEntry: AuditEntry = {
    ...createEntry(caller.claims, context, `No answer: ${summary.description}`),
    ...fieldsOfDecision(summary),
    outcome: 'outcome_unknown',
    error: 'outcome_unknown',
    call_id: auditId,
  };
  try {
    await publishEntry(publisher, caller.claims, { type: 'action.unanswered', entry: auditEntry });
  } catch (error) {
    logger.error({ err: error, auditId }, 'a lost answer could not be recorded');
  }
}

/** Publishes an audit record of the gateway. Throws `unavailable` if it cannot be stored. */
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
  return inLayer('audit', {}, () => publisher.publish(event));
}

/**
 * Builds the fields that are in every record of the gateway: those about the caller and the
 * request.
 */
export function createEntry(
  claims: Principal,
  context: CallContext,
  description: string,
): AuditEntry {
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

export function fieldsOfDecision(summary: CallSummary): Partial<AuditEntry> {
  return {
    service: summary.service,
    template: summary.template,
    action: summary.action,
    permission_keys: [...summary.permissionKeys],
    risk: summary.risk,
  };
}

/**
 * Returns the fields of the record if a call was refused before policy resolved it: the names in
 * the request, but not its body.
 */
export function fieldsOfRequest(call: Call): Partial<AuditEntry> {
  return {
    service: call.service,
    action: call.kind === 'action' ? call.action : call.method,
  };
}
