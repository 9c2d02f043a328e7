import { blankAuditEntry } from '#contracts/audit';
import type { AuditEntry } from '#contracts/audit';
import type { Event, EventType } from '#contracts/events';
import type { CallContext, IdentityReference, Principal } from '#contracts/vocabulary';
import type { createEvent } from '#events';
import { referenceOf } from '../domain/credential-rules.ts';
import type { StoredSecret } from '../repository/secret.ts';
import type { SecretRequestRow } from '../repository/secret-request.ts';

type NewEvent = Parameters<typeof createEvent>[0];

/** Who changes something, and in which request of theirs; null where that is not known. */
export interface Change {
  readonly principal: Principal;
  readonly context: CallContext | null;
}

/** The announcement of a change to a secret, with its audit row. Names and ids; never a value. */
export function secretEvent(
  type: Extract<EventType, `secret.${string}`>,
  { principal, context, secret, text }: Change & { secret: StoredSecret; text: string },
): NewEvent {
  return {
    type,
    orgId: principal.orgId,
    audience: [principal.userId],
    data: dataOf(secret),
    audit: auditOf({ principal, context }, text),
  };
}

/** That a link was handed out. The link itself is in the answer alone. */
export function secretRequested(
  { principal, context }: Change,
  request: SecretRequestRow,
): NewEvent {
  const { name, tier, reason, allowedHosts, requestedBy } = request;
  const where = allowedHosts.length === 0 ? '' : ` for ${allowedHosts.join(', ')}`;
  return {
    type: 'secret.requested',
    orgId: principal.orgId,
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
    audit: auditOf(
      { principal, context },
      `Asked for the secret ${referenceOf({ tier, name })}${where}`,
    ),
  };
}

/** That a person entered it; told to who asked, too. */
export function secretProvided(
  { principal, context }: Change,
  { request, secret }: { request: SecretRequestRow; secret: StoredSecret },
): NewEvent {
  const asker = request.requestedBy.path.join(' / ');
  return {
    type: 'secret.provided',
    orgId: principal.orgId,
    audience: [...new Set([principal.userId, ...request.audience])],
    data: { ...dataOf(secret), request_id: request.id },
    audit: auditOf(
      { principal, context },
      `Stored the secret ${referenceOf(secret)}, which ${asker} asked for`,
    ),
  };
}

/** As the audit log and a page name who it is. */
export function identityOf({ chain, identityId, kind }: Principal): IdentityReference {
  const path = chain.map(({ name }) => name);
  return { id: identityId, kind, name: path.at(-1) ?? '', path };
}

function dataOf(secret: StoredSecret): Event['data'] {
  const { id, tier, currentVersion } = secret;
  return { secret_id: id, name: referenceOf(secret), tier, version: currentVersion };
}

function auditOf({ principal, context }: Change, text: string): AuditEntry {
  const { kind, id, clientId } = principal.credential;
  return {
    ...blankAuditEntry(text),
    user_id: principal.userId,
    identity: identityOf(principal),
    credential: { kind, id, client_id: clientId },
    request_id: context?.requestId ?? null,
    trace_id: context?.traceId ?? null,
    ip: context?.ip ?? null,
  };
}
