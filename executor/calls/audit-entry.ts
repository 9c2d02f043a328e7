import { blankAuditEntry, toAuditedRequest } from '#contracts/audit';
import type { AuditEntry, DisclosedField } from '#contracts/audit';
import type { CallResult } from '#contracts/call';
import type { Permit } from '#contracts/permit';
import type { CallContext } from '#contracts/vocabulary';
import type { ErrorCode } from '#errors';
import type { createEvent } from '#events';
import { parseAddress } from '../request/domain/base-url.ts';
import { showWithoutBody } from '../previews/domain/redact.ts';
import { requestDigestOf } from '../request/domain/built-request.ts';
import type { BuiltRequest } from '../request/domain/built-request.ts';
import { isNonRead } from '../sending/domain/retry.ts';
import { toShownCredential } from '../previews/domain/shown-credential.ts';
import type { PreparedCall } from '../request/prepare-call.ts';

type NewEvent = Parameters<typeof createEvent>[0];

/** The fields of an audit record that are known before the call ends. */
export function auditEntryOf(
  permit: Permit,
  {
    prepared,
    context,
    disclosed,
  }: { prepared: PreparedCall; context: CallContext; disclosed: DisclosedField[] },
): AuditEntry {
  const { request } = prepared;
  const { target, credential, chain } = permit;
  const caller = chain.at(-1);
  return {
    ...blankAuditEntry(permit.description),
    user_id: permit.userId,
    identity: caller
      ? { id: caller.id, kind: caller.kind, name: caller.name, path: chain.map(({ name }) => name) }
      : null,
    credential: { kind: credential.kind, id: credential.id, client_id: credential.clientId },
    service: target.kind === 'raw' ? 'http' : target.service,
    template: target.kind === 'raw' ? 'http' : target.template.key,
    action: target.kind === 'action' ? target.action : methodAndUrlOf(request),
    permission_keys: permit.keys,
    risk: permit.risk,
    decision: permit.decision,
    disclosed,
    approval_id: permit.approvalId,
    execution_id: permit.executionId,
    request_id: context.requestId,
    trace_id: context.traceId,
    ip: context.ip,
    call_id: permit.jti,
    request_digest: isNonRead(request.method, permit.nonRead) ? requestDigestOf(request) : null,
    // The headers of an action come from its parameters, which the record contains already. Other
    // calls set headers directly, so the record must contain them here.
    request: target.kind === 'action' ? null : requestWithoutBodyOf(prepared, permit),
  };
}

function requestWithoutBodyOf(
  preparedCall: PreparedCall,
  { injections }: Permit,
): AuditEntry['request'] {
  const credentials = injections.map((injection) => toShownCredential(injection));
  return toAuditedRequest(showWithoutBody(preparedCall, credentials));
}

/**
 * The method and URL without the query, because the query of a raw call may contain credentials
 * (docs/reference/audit.md#what-a-record-holds).
 */
function methodAndUrlOf({ method, url }: BuiltRequest): string {
  const { host, pathname } = parseAddress(url);
  return `${method} ${host}${pathname}`.slice(0, 300);
}

interface EventParts {
  readonly orgId: string;
  readonly auditId: string;
  readonly audience: readonly string[];
  readonly entry: AuditEntry;
}

/** The event that announces that a non-read is about to be sent. */
export function createIntentEvent({ orgId, auditId, audience, entry }: EventParts): NewEvent {
  return {
    type: 'action.intent',
    orgId,
    audience,
    data: { audit_id: auditId, service: entry.service, action: entry.action },
    audit: { ...entry, outcome: 'started' },
  };
}

export type AuditedOutcome =
  | { readonly kind: 'called'; readonly result: CallResult }
  | { readonly kind: 'failed'; readonly code: ErrorCode; readonly durationMs: number | null };

export function createOutcomeEvent(
  { orgId, auditId, audience, entry }: EventParts,
  outcome: AuditedOutcome,
): NewEvent {
  const isCalled = outcome.kind === 'called';
  return {
    type: 'action.outcome',
    orgId,
    audience,
    data: {
      audit_id: auditId,
      service: entry.service,
      action: entry.action,
      outcome: outcome.kind,
    },
    audit: {
      ...entry,
      outcome: isCalled || outcome.code !== 'outcome_unknown' ? outcome.kind : outcome.code,
      error: isCalled ? null : outcome.code,
      http_status: isCalled ? outcome.result.status_code : null,
      failure: isCalled ? (outcome.result.failure?.kind ?? null) : null,
      duration_ms: isCalled ? outcome.result.duration_ms : outcome.durationMs,
    },
  };
}
