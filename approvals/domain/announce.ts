import { blankAuditEntry, toAuditedRequest } from '#contracts/audit';
import type { AuditEntry } from '#contracts/audit';
import type { EventType } from '#contracts/events';
import type { CallContext, IdentityReference, JsonValue, Principal } from '#contracts/vocabulary';
import { deniedError } from './outcome.ts';
import type { Approval, Execution } from './approval.ts';
import { approvalUrl, presentCard, presentExecution } from './present.ts';
import { referenceOf } from './relationship.ts';

/** Who moved something, for the audit log; null is a clock of ours. */
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

/** What policy plants rules by, each as signed. */
export interface Remembered {
  readonly gap: string;
  readonly decision: string;
}

export function actorOf(principal: Principal, context: CallContext): Actor {
  const { kind, id, clientId } = principal.credential;
  return {
    identity: referenceOf(principal),
    credential: { kind, id, client_id: clientId },
    context,
  };
}

export function announceRaised(approval: Approval, baseUrl: string): Announcement {
  const { card } = approval;
  return {
    ...subjectOf(approval, 'approval.raised'),
    data: dataOf({
      ...presentCard(approval, 'downstream'),
      approval_url: approvalUrl(baseUrl, approval.id),
    }),
    audit: {
      ...auditOf(approval, { sentence: card.description, actor: requesterOf(approval) }),
      outcome: 'pending_approval',
      disclosed: [...card.disclosed],
      request: toAuditedRequest(card.request),
    },
  };
}

export function announceBubbled(
  approval: Approval,
  move: { from: string; to: string; by: 'user' | 'agent' | 'timer'; actor: Actor | null },
): Announcement {
  return {
    ...subjectOf(approval, 'approval.bubbled'),
    data: { approval_id: approval.id, from: move.from, to: move.to, by: move.by },
    audit: auditOf(approval, {
      sentence: `Handed up: ${approval.card.description}`,
      actor: move.actor,
    }),
  };
}

/** Every move out of the open states: by a person, an agent, a cancel, a revocation or the clock. */
export function announceResolved(approval: Approval, actor: Actor | null): Announcement {
  const { status, execution, reason } = approval;
  return {
    ...subjectOf(approval, 'approval.resolved'),
    data: dataOf({
      approval_id: approval.id,
      status,
      resolution: approval.resolution,
      resolved_by: approval.resolvedBy,
      ...(reason === null ? {} : { reason }),
      ...(execution ? { execution: presentExecution(execution) } : {}),
    }),
    audit: {
      ...auditOf(approval, {
        sentence: `${sentenceOf(approval)}: ${approval.card.description}`,
        actor,
      }),
      ...(status === 'denied' ? { outcome: 'denied' as const } : {}),
      ...(status === 'expired' ? { outcome: 'failed' as const, error: 'expired' } : {}),
      decision: status === 'allowed' ? decidedBy(approval) : null,
    },
  };
}

/** Never shown to subscribers: it plants the rule should the call to policy be lost. */
export function announceRemembered(
  approval: Approval,
  { gap, decision }: Remembered,
  actor: Actor,
): Announcement {
  return {
    ...subjectOf(approval, 'approval.remembered'),
    data: { approval_id: approval.id, gap, decision },
    audit: auditOf(approval, { sentence: `Remembered: ${approval.card.description}`, actor }),
  };
}

/** What is replayed by itself is done in the requester's name. */
export function announceStarted(approval: Approval, actor: Actor | null): Announcement {
  return {
    ...subjectOf(approval, 'execution.started'),
    data: { approval_id: approval.id, execution_id: approval.execution?.id ?? '' },
    audit: {
      ...auditOf(approval, {
        sentence: `Replaying: ${approval.card.description}`,
        actor: actor ?? requesterOf(approval),
      }),
      outcome: 'started',
      decision: decidedBy(approval),
    },
  };
}

/** An execution's end. Only who was not there to read the result gets it with the event. */
export function announceFinished(approval: Approval, actor: Actor | null): Announcement {
  const execution = approval.execution as Execution;
  const { result, ...withoutResult } = presentExecution(execution);
  const withResult = execution.triggeredBy === 'auto' && result !== undefined;
  return {
    ...subjectOf(approval, 'execution.finished'),
    data: dataOf({
      approval_id: approval.id,
      execution: withResult ? { ...withoutResult, result } : withoutResult,
    }),
    audit: {
      ...auditOf(approval, {
        sentence: `Replay ${execution.status}: ${approval.card.description}`,
        actor: actor ?? requesterOf(approval),
      }),
      ...finishedFacts(execution),
      call_id: execution.auditId,
      decision: decidedBy(approval),
    },
  };
}

function finishedFacts(execution: Execution): Partial<AuditEntry> {
  if (execution.status === 'executed') {
    return {
      outcome: 'called',
      http_status: execution.httpStatusCode,
      duration_ms: execution.result?.duration_ms ?? null,
    };
  }
  const error = execution.error?.error ?? execution.status;
  if (error === deniedError) return { outcome: 'denied' };
  return { outcome: error === 'outcome_unknown' ? error : 'failed', error };
}

function sentenceOf({ status, resolution, resolvedBy, requesterId }: Approval): string {
  const bySelf = resolution !== null && resolvedBy?.id === requesterId ? ' by itself' : '';
  if (status === 'allowed')
    return `${resolution === 'allow_remember' ? 'Allowed and remembered' : 'Allowed'}${bySelf}`;
  return status === 'denied' ? `Denied${bySelf}` : 'Expired undecided';
}

function subjectOf(approval: Approval, type: EventType) {
  return { type, orgId: approval.orgId, audience: approval.chain };
}

function decidedBy(approval: Approval): AuditEntry['decision'] {
  return { by: 'approval', rule_id: null, approval_id: approval.id };
}

function requesterOf({ card }: Approval): Actor {
  return { identity: card.requester, credential: card.credential, context: card.context };
}

function auditOf(
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

/** What is announced is what a reader would get: plain JSON, with nothing undefined in it. */
function dataOf(value: object): Record<string, JsonValue> {
  return JSON.parse(JSON.stringify(value)) as Record<string, JsonValue>;
}
