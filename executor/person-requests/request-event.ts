import { blankAuditEntry } from '#contracts/audit';
import type { AuditEntry } from '#contracts/audit';
import type { Event } from '#contracts/events';
import type { IdentityReference } from '#contracts/vocabulary';
import type { createEvent } from '#events';
import { actorOf } from '../credentials/actor.ts';
import type { Actor } from '../credentials/actor.ts';
import { referenceOf } from '../credentials/domain/credential-rules.ts';
import type { PersonRequest } from './person-request-row.sql.ts';

type NewEvent = Parameters<typeof createEvent>[0];

/** An event has at most this many identities in its audience. */
const audienceMax = 20;

export function createRaisedEvent(by: Actor, request: PersonRequest): NewEvent {
  return createRequestEvent('request.raised', request, {
    by: actorOf(by),
    text: `Asked for ${requestedThingOf(request)}`,
  });
}

/** Announces an open request again, after its requester has changed. */
export function createPassedOnEvent(
  by: Partial<AuditEntry>,
  { from, request }: { from: IdentityReference; request: PersonRequest },
): NewEvent {
  const text = `The request for ${requestedThingOf(request)} by ${from.path.join(' / ')} was taken back, and stays open for ${request.requester.path.join(' / ')}`;
  return createRequestEvent('request.raised', request, { by, text });
}

const verbsByStatus = {
  ready: 'Answered the request for',
  declined: 'Declined the request for',
  cancelled: 'Took back the request for',
  expired: 'Nobody answered the request for',
} as const;

/**
 * `by` is the identity that closed the request, for the audit record; null when the request
 * expired.
 */
export function createClosedEvent(
  by: Partial<AuditEntry> | null,
  request: PersonRequest & { readonly status: keyof typeof verbsByStatus },
): NewEvent {
  const requesterPath = request.requester.path.join(' / ');
  const text = `${verbsByStatus[request.status]} ${requestedThingOf(request)} by ${requesterPath}`;
  return createRequestEvent('request.closed', request, { by, text });
}

function requestedThingOf({ kind, tier, name, template }: PersonRequest): string {
  const templateNote = template === null ? '' : ` from template ${template.key}`;
  return `the ${kind} ${referenceOf({ tier, name })}${templateNote}`;
}

function createRequestEvent(
  type: 'request.raised' | 'request.closed',
  request: PersonRequest,
  { by, text }: { by: Partial<AuditEntry> | null; text: string },
): NewEvent {
  const askerIds = request.alsoAskedBy.map(({ id }) => id);
  // The askers come before the other readers, because one agent can add many readers (its
  // subagents).
  const readerIds = new Set([...request.chainIds, ...askerIds, ...request.audience]);
  const audience = [...readerIds].slice(0, audienceMax);
  return {
    type,
    orgId: request.orgId,
    audience,
    data: eventDataOf(request),
    audit: {
      ...blankAuditEntry(text),
      user_id: request.userId,
      template: request.template?.key ?? null,
      ...by,
    },
  };
}

function eventDataOf(request: PersonRequest): Event['data'] {
  return {
    request_id: request.id,
    kind: request.kind,
    status: request.status,
    requester: request.requester,
    tier: request.tier,
    template: request.template,
    name: request.name,
    reason: request.reason,
    connection_id: request.connectionId,
    service_id: request.serviceId,
    service: request.serviceName && referenceOf({ tier: request.tier, name: request.serviceName }),
    expires_at: request.expiresAt.toISOString(),
    decided_by: request.decidedBy,
    decline_reason: request.declineReason,
  };
}
