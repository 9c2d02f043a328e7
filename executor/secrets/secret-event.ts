import { blankAuditEntry } from '#contracts/audit';
import type { Event, EventType } from '#contracts/events';
import type { createEvent } from '#events';
import { actorOf } from '../credentials/actor.ts';
import type { Actor } from '../credentials/actor.ts';
import { referenceOf } from '../credentials/domain/credential-rules.ts';
import type { StoredSecret } from './secret.sql.ts';
import type { SecretRequestRow } from './secret-request.sql.ts';

type NewEvent = Parameters<typeof createEvent>[0];

/**
 * The event that announces a change to a secret, with its audit record. It contains names and ids,
 * never a value.
 */
export function createSecretEvent(
  type: Extract<EventType, `secret.${string}`>,
  { principal, context, secret, text }: Actor & { secret: StoredSecret; text: string },
): NewEvent {
  return {
    type,
    orgId: principal.orgId,
    audience: [principal.userId],
    data: eventDataOf(secret),
    audit: { ...blankAuditEntry(text), ...actorOf({ principal, context }) },
  };
}

/**
 * The event that announces a new secret request. The link is in the answer to the requester only,
 * not in the event.
 */
export function createRequestedEvent(by: Actor, request: SecretRequestRow): NewEvent {
  const { name, tier, reason, allowedHosts, requestedBy } = request;
  const hostsSentence = allowedHosts.length === 0 ? '' : ` for ${allowedHosts.join(', ')}`;
  const text = `Asked for the secret ${referenceOf({ tier, name })}${hostsSentence}`;
  return {
    type: 'secret.requested',
    orgId: by.principal.orgId,
    audience: request.audience,
    data: {
      request_id: request.id,
      name: referenceOf({ tier, name }),
      tier,
      reason,
      allowed_hosts: allowedHosts,
      requested_by: requestedBy,
      expires_at: request.expiresAt.toISOString(),
    },
    audit: { ...blankAuditEntry(text), ...actorOf(by) },
  };
}

/**
 * The event that announces that a person entered the requested secret. The requester receives this
 * event too.
 */
export function createProvidedEvent(
  by: Actor,
  { request, secret }: { request: SecretRequestRow; secret: StoredSecret },
): NewEvent {
  const requesterPath = request.requestedBy.path.join(' / ');
  const { currentVersion: version } = secret;
  const subject = version === 1 ? 'the secret' : `version ${version} of the secret`;
  const text = `Stored ${subject} ${referenceOf(secret)}, which ${requesterPath} asked for`;
  const { orgId, userId } = by.principal;
  return {
    type: 'secret.provided',
    orgId,
    audience: [...new Set([userId, ...request.audience])],
    data: { ...eventDataOf(secret), request_id: request.id },
    audit: { ...blankAuditEntry(text), ...actorOf(by) },
  };
}

function eventDataOf(secret: StoredSecret): Event['data'] {
  const { id, tier, currentVersion } = secret;
  return { secret_id: id, name: referenceOf(secret), tier, version: currentVersion };
}
