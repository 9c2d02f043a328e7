import { blankAuditEntry, toAuditedRequest } from '#contracts/audit';
import type { AuditEntry } from '#contracts/audit';
import type { EventType } from '#contracts/events';
import type { CallContext, IdentityReference, JsonValue, Principal } from '#contracts/vocabulary';
import { deniedErrorCode } from './approval.ts';
import type { Approval, Execution, Resolution } from './approval.ts';
import { approvalUrlOf, presentCard, presentExecution } from './present.ts';
import { identityReferenceOf } from './relationship.ts';

/**
 * Who changed an approval or execution, for the audit log; null means that approvals itself did,
 * because a time limit ended or an identity was revoked.
 */
export interface Actor {
  readonly identity: IdentityReference;
  readonly credential: AuditEntry['credential'];
  readonly context: CallContext;
}

export interface Announcement {
  readonly type: EventType;
  readonly orgId: string;
  readonly audience: readonly string[];
  readonly data: Record<string, JsonValue>;
  readonly audit: AuditEntry;
}

/**
 * The data from which policy creates rules: a signed permission gap and the signed decision on it.
 */
export interface RememberedDecision {
  readonly gap: string;
  readonly decision: string;
}

export function actorOf(principal: Principal, context: CallContext): Actor {
  const { kind, id, clientId } = principal.credential;
  return {
    identity: identityReferenceOf(principal),
    credential: { kind, id, client_id: clientId },
    context,
  };
}

export function raisedAnnouncementOf(approval: Approval, baseUrl: string): Announcement {
  const { card } = approval;
  return {
    ...eventFieldsOf(approval, 'approval.raised'),
    data: toEventData({
      ...presentCard(approval, 'downstream'),
      approval_url: approvalUrlOf(baseUrl, approval.id),
    }),
    audit: {
      ...auditEntryOf(approval, { sentence: card.description, actor: requesterActorOf(approval) }),
      outcome: 'pending_approval',
      disclosed: [...card.disclosed],
      request: toAuditedRequest(card.request),
    },
  };
}

interface ApprovalMove {
  readonly type: EventType;
  /** The data of the event, in addition to the approval's id. */
  readonly data: Record<string, JsonValue>;
  /** What happened. The audit log has this text before the description of the call. */
  readonly verb: string;
  readonly actor: Actor | null;
}

/** Announces that something happened to an approval. */
export function moveAnnouncementOf(
  approval: Approval,
  { type, data, verb, actor }: ApprovalMove,
): Announcement {
  return {
    ...eventFieldsOf(approval, type),
    data: { approval_id: approval.id, ...data },
    audit: auditEntryOf(approval, { sentence: `${verb}: ${approval.card.description}`, actor }),
  };
}

/**
 * Announces that an approval is no longer open: a person or agent decided it, or the call was
 * cancelled, its requester was revoked, or the time limit ended.
 */
export function resolvedAnnouncementOf(approval: Approval, actor: Actor | null): Announcement {
  const { status, execution, reason, resolution, resolvedBy } = approval;
  const announcement = moveAnnouncementOf(approval, {
    type: 'approval.resolved',
    data: toEventData({
      status,
      resolution,
      resolved_by: resolvedBy,
      ...(reason === null ? {} : { reason }),
      ...(execution ? { execution: presentExecution(execution) } : {}),
    }),
    verb: resolutionVerbOf(approval),
    actor,
  });
  return {
    ...announcement,
    audit: {
      ...announcement.audit,
      ...(status === 'denied' ? { outcome: 'denied' as const } : {}),
      ...(status === 'expired' ? { outcome: 'failed' as const, error: 'expired' } : {}),
      decision: status === 'allowed' ? auditDecisionOf(approval) : null,
    },
  };
}

/**
 * Announces that a replay has begun. The audit log names the requester as the actor of an automatic
 * replay.
 */
export function startedAnnouncementOf(approval: Approval, actor: Actor | null): Announcement {
  return {
    ...eventFieldsOf(approval, 'execution.started'),
    data: { approval_id: approval.id, execution_id: approval.execution?.id ?? '' },
    audit: {
      ...auditEntryOf(approval, {
        sentence: `Replaying: ${approval.card.description}`,
        actor: actor ?? requesterActorOf(approval),
      }),
      outcome: 'started',
      decision: auditDecisionOf(approval),
    },
  };
}

/**
 * Announces how an execution ended. Only the event of an automatic replay contains the result. In
 * all other cases a caller waited for the result and has received it.
 */
export function finishedAnnouncementOf(approval: Approval, actor: Actor | null): Announcement {
  const execution = approval.execution as Execution;
  const { result, ...withoutResult } = presentExecution(execution);
  const includesResult = execution.triggeredBy === 'auto' && result !== undefined;
  return {
    ...eventFieldsOf(approval, 'execution.finished'),
    data: toEventData({
      approval_id: approval.id,
      execution: includesResult ? { ...withoutResult, result } : withoutResult,
    }),
    audit: {
      ...auditEntryOf(approval, {
        sentence: `Replay ${execution.status}: ${approval.card.description}`,
        actor: actor ?? requesterActorOf(approval),
      }),
      ...auditFieldsOfEnd(execution),
      call_id: execution.auditId,
      decision: auditDecisionOf(approval),
    },
  };
}

function auditFieldsOfEnd(execution: Execution): Partial<AuditEntry> {
  if (execution.status === 'executed') {
    return {
      outcome: 'called',
      http_status: execution.httpStatusCode,
      duration_ms: execution.result?.duration_ms ?? null,
    };
  }
  const error = execution.error?.error ?? execution.status;
  if (error === deniedErrorCode) return { outcome: 'denied' };
  return { outcome: error === 'outcome_unknown' ? error : 'failed', error };
}

const allowVerbs: Record<Resolution, string> = {
  allow: 'Allowed',
  allow_remember: 'Allowed and remembered',
  deny: 'Denied',
};

function resolutionVerbOf({ status, resolution, resolvedBy, requesterId }: Approval): string {
  const bySelfSuffix = resolution !== null && resolvedBy?.id === requesterId ? ' by itself' : '';
  if (status === 'allowed') return `${allowVerbs[resolution ?? 'allow']}${bySelfSuffix}`;
  return status === 'denied' ? `Denied${bySelfSuffix}` : 'Expired undecided';
}

function eventFieldsOf(approval: Approval, type: EventType) {
  return { type, orgId: approval.orgId, audience: approval.chain };
}

function auditDecisionOf(approval: Approval): AuditEntry['decision'] {
  return { by: 'approval', rule_id: null, approval_id: approval.id };
}

function requesterActorOf({ card }: Approval): Actor {
  return { identity: card.requester, credential: card.credential, context: card.context };
}

function auditEntryOf(
  approval: Approval,
  { sentence, actor }: { sentence: string; actor: Actor | null },
): AuditEntry {
  const { card } = approval;
  return {
    ...blankAuditEntry(sentence.slice(0, 2000)),
    user_id: approval.userId,
    identity: actor?.identity ?? null,
    credential: actor?.credential ?? null,
    service: approval.service,
    template: card.template,
    action: card.action,
    permission_keys: [...card.permissionKeys],
    risk: approval.risk,
    approval_id: approval.id,
    execution_id: approval.execution?.id ?? null,
    request_digest: approval.requestDigest,
    request_id: actor?.context.requestId ?? null,
    trace_id: actor?.context.traceId ?? null,
    ip: actor?.context.ip ?? null,
  };
}

/**
 * Converts to plain JSON without undefined members, so that events contain exactly what the API
 * returns.
 */
function toEventData(value: object): Record<string, JsonValue> {
  return JSON.parse(JSON.stringify(value)) as Record<string, JsonValue>;
}
