import { blankAuditEntry, toAuditedRequest } from '#contracts/audit';
import type { AuditEntry, DisclosedField } from '#contracts/audit';
import type { CallResult } from '#contracts/call';
import type { Permit } from '#contracts/permit';
import type { CallContext } from '#contracts/vocabulary';
import type { ErrorCode } from '#errors';
import type { createEvent } from '#events';
import { parseAddress } from '../domain/base-url.ts';
import { showBesideBody } from '../domain/redact.ts';
import { requestDigestOf } from '../domain/request.ts';
import type { BuiltRequest } from '../domain/request.ts';
import { isNonRead } from '../domain/retry.ts';
import { toShownCredential } from '../domain/shown-credential.ts';
import type { PreparedCall } from './prepare.ts';

type NewEvent = Parameters<typeof createEvent>[0];

/** Everything an audit row says of a call before anybody knows how it ends. */
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
    action: target.kind === 'action' ? target.action : verbOf(request),
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
    // An action's headers are made of its parameters; of other calls nothing else would tell.
    request: target.kind === 'action' ? null : besideBodyOf(prepared, permit),
  };
}

function besideBodyOf(prepared: PreparedCall, { injections }: Permit): AuditEntry['request'] {
  const credentials = injections.map((injection) => toShownCredential(injection));
  return toAuditedRequest(showBesideBody(prepared, credentials));
}

/** Leaves the query out, where raw calls carry credentials (docs/reference/audit.md#what-a-record-holds). */
function verbOf({ method, url }: BuiltRequest): string {
  const { host, pathname } = parseAddress(url);
  return `${method} ${host}${pathname}`.slice(0, 300);
}

interface EventParts {
  readonly orgId: string;
  readonly auditId: string;
  readonly audience: readonly string[];
  readonly entry: AuditEntry;
}

/** A non-read is about to leave. */
export function intentEvent({ orgId, auditId, audience, entry }: EventParts): NewEvent {
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

export function outcomeEvent(
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
      duration_ms: isCalled ? outcome.result.duration_ms : outcome.durationMs,
    },
  };
}
