import type { CallResult } from '#contracts/call';
import type { IdentityReference } from '#contracts/vocabulary';
import type { Sql } from '#database';
import type { Approval, ApprovalCard, Execution, ExecutionError } from './domain/approval.ts';
import type { LadderStep } from './domain/ladder.ts';

/** An approval joined with its execution, if it has one. */
export interface ApprovalRow {
  id: string;
  org_id: string;
  status: Approval['status'];
  requester_id: string;
  user_id: string;
  chain: string[];
  resolver_id: string;
  ladder: LadderStep[];
  auto_bubble_seconds: number;
  placement_id: string;
  service: string;
  service_id: string | null;
  credential_id: string | null;
  risk: Approval['risk'];
  non_read: boolean;
  gap_id: string | null;
  gap_digest: string | null;
  card_mac: string | null;
  request_digest: string;
  timeout_ms: number;
  auto_call_on_approve: boolean;
  card: string;
  reason: string | null;
  resolution: Approval['resolution'];
  resolved_by: IdentityReference | null;
  resolved_at: Date | null;
  created_at: Date;
  expires_at: Date;
  execution_id: string | null;
  execution_status: Execution['status'];
  runtime: Execution['runtime'];
  triggered_by: Execution['triggeredBy'];
  http_status_code: number | null;
  result: string | null;
  error: string | null;
  audit_id: string | null;
  execution_created_at: Date;
  started_at: Date | null;
  finished_at: Date | null;
  execution_expires_at: Date;
  traceparent: string | null;
}

/**
 * The statuses of an approval that waits for a decision, for use after `in`. The partial indexes
 * list the same statuses.
 */
export function openStatuses(sql: Sql) {
  return sql`('pending', 'bubbled')`;
}

/**
 * The beginning of every statement that reads approvals. It leaves out the sealed call and the
 * permission gap, which may be megabytes long (`findFrozenCall` reads them). Lists also leave out
 * the stored results.
 */
export function selectApprovals(sql: Sql, { withResults }: { withResults: boolean }) {
  return sql`
    select a.id, a.org_id, a.status, a.requester_id, a.user_id, a.chain, a.resolver_id, a.ladder,
           a.auto_bubble_seconds, a.placement_id, a.service, a.service_id, a.credential_id, a.risk,
           a.non_read,
           a.gap_id, a.gap_digest, a.card_mac, a.request_digest, a.timeout_ms, a.auto_call_on_approve, a.card,
           a.reason, a.resolution, a.resolved_by, a.resolved_at, a.created_at, a.expires_at,
           e.id as execution_id, e.status as execution_status, e.runtime, e.triggered_by,
           e.http_status_code, case when ${withResults} then e.result end as result, e.error,
           e.audit_id, e.created_at as execution_created_at, e.started_at, e.finished_at,
           e.expires_at as execution_expires_at, e.traceparent
      from approvals.approval a
      left join approvals.execution e on e.org_id = a.org_id and e.approval_id = a.id
  `;
}

export function toApproval(row: ApprovalRow): Approval {
  return {
    id: row.id,
    orgId: row.org_id,
    status: row.status,
    requesterId: row.requester_id,
    userId: row.user_id,
    chain: row.chain,
    resolverId: row.resolver_id,
    ladder: row.ladder,
    autoBubbleSeconds: row.auto_bubble_seconds,
    placementId: row.placement_id,
    service: row.service,
    serviceId: row.service_id,
    credentialId: row.credential_id,
    risk: row.risk,
    nonRead: row.non_read,
    gapId: row.gap_id,
    gapDigest: row.gap_digest,
    cardMac: row.card_mac,
    requestDigest: row.request_digest,
    timeoutMs: row.timeout_ms,
    autoCallOnApprove: row.auto_call_on_approve,
    card: toCard(row.card),
    reason: row.reason,
    resolution: row.resolution,
    resolvedBy: row.resolved_by,
    resolvedAt: row.resolved_at,
    createdAt: row.created_at,
    expiresAt: row.expires_at,
    execution: toExecution(row),
  };
}

/** The approval cards that earlier versions stored do not have these fields of the request. */
const unrecordedRequestFields = {
  params: null,
  headers: {},
  content_type: null,
  body: null,
  credentials: [],
};

function toCard(text: string): ApprovalCard {
  const card = JSON.parse(text) as ApprovalCard;
  return { ...card, request: { ...unrecordedRequestFields, ...card.request } };
}

function toExecution(row: ApprovalRow): Execution | null {
  if (row.execution_id === null) return null;
  return {
    id: row.execution_id,
    status: row.execution_status,
    runtime: row.runtime,
    triggeredBy: row.triggered_by,
    httpStatusCode: row.http_status_code,
    result: row.result === null ? null : (JSON.parse(row.result) as CallResult),
    error: row.error === null ? null : (JSON.parse(row.error) as ExecutionError),
    auditId: row.audit_id,
    createdAt: row.execution_created_at,
    startedAt: row.started_at,
    finishedAt: row.finished_at,
    expiresAt: row.execution_expires_at,
    traceparent: row.traceparent,
  };
}
