import { z } from 'zod';

import { auditEntry } from './audit.ts';
import { id, json, timestamp } from './vocabulary.ts';
import type { Component } from './vocabulary.ts';

/**
 * Everything that is announced, by the component that alone may say it, and whether subscribers of
 * webhooks and SSE may see it. `internal` events drop caches, plant rules or only leave an audit row.
 */
const eventTypesOf = {
  gateway: {
    'action.denied': 'internal',
    'action.refused': 'internal',
    /** A call that may change something was answered with an unknown outcome before its own record was there. */
    'action.unanswered': 'internal',
    /** An attempt to decide, cancel or run an approval was refused. */
    'approval.refused': 'internal',
    /** Any other request to change something was refused because its caller may not. */
    'request.refused': 'internal',
  },
  auth: {
    'identity.created': 'public',
    'identity.changed': 'internal',
    'identity.revoked': 'public',
    'agent_key.created': 'internal',
    'agent_key.revoked': 'internal',
    'session.created': 'internal',
    'session.ended': 'internal',
    'sign_in.failed': 'internal',
    'sign_in_link.created': 'internal',
    'sign_in_provider.changed': 'internal',
    'password.changed': 'internal',
    'user.invited': 'internal',
    'org.changed': 'internal',
    /** An OAuth client was bound to an agent, rebound, unbound, or its self-approval switched. */
    'mcp_connection.changed': 'internal',
    /** An admin shut a client out of the org. */
    'oauth_client.revoked': 'internal',
    /** A client was let in by its user, and let out again: the end of every token of that chain. */
    'oauth_grant.created': 'internal',
    'oauth_grant.revoked': 'internal',
    'oauth_token.revoked': 'internal',
  },
  registry: {
    'service.created': 'internal',
    'service.changed': 'internal',
    'service.deleted': 'internal',
    'registry.changed': 'internal',
    'template.saved': 'internal',
    'template.published': 'internal',
    'template.disabled': 'internal',
    'template.enabled': 'internal',
    'template.deleted': 'internal',
  },
  policy: {
    'rule.created': 'public',
    'rule.deleted': 'public',
  },
  executor: {
    'secret.created': 'internal',
    'secret.deleted': 'internal',
    'secret.changed': 'internal',
    'secret.requested': 'public',
    'secret.provided': 'public',
    /** Somebody asked for access; nothing is connected yet. */
    'connection.requested': 'internal',
    'connection.created': 'public',
    'connection.changed': 'internal',
    'connection.refreshed': 'internal',
    'connection.needs_reauth': 'public',
    'connection.revoked': 'public',
    'oauth_app.changed': 'internal',
    'action.intent': 'internal',
    'action.outcome': 'internal',
  },
  approvals: {
    'approval.raised': 'public',
    'approval.bubbled': 'public',
    'approval.resolved': 'public',
    'approval.remembered': 'internal',
    'execution.started': 'internal',
    'execution.finished': 'public',
  },
  notifier: {
    'webhook.created': 'internal',
    'webhook.changed': 'internal',
    'webhook.deleted': 'internal',
    'webhook.disabled': 'public',
  },
  audit: {
    /** A component said what only another may say: what the audit log keeps instead of it. */
    'event.refused': 'internal',
  },
} as const satisfies Record<Component, Record<string, 'public' | 'internal'>>;

export const eventTypes = {
  ...eventTypesOf.approvals,
  ...eventTypesOf.executor,
  ...eventTypesOf.auth,
  ...eventTypesOf.policy,
  ...eventTypesOf.registry,
  ...eventTypesOf.notifier,
  ...eventTypesOf.gateway,
  ...eventTypesOf.audit,
};

export type EventType = keyof typeof eventTypes;
export const eventType = z.enum(Object.keys(eventTypes) as [EventType, ...EventType[]]);
export const publicEventTypes = Object.entries(eventTypes)
  .filter(([, visibility]) => visibility === 'public')
  .map(([type]) => type as EventType);

/**
 * One message of the stream EVENTS. `data` is the public body for public types. `audience` are
 * the identities whose chain it concerns: they and org admins may see it. `audit` makes a row
 * of the audit log.
 */
export const event = z.strictObject({
  id,
  type: eventType,
  created_at: timestamp,
  org_id: id,
  audience: z.array(id).max(20),
  data: z.record(z.string(), json),
  audit: auditEntry.nullable(),
});
export type Event = z.infer<typeof event>;

export const eventsStream = 'EVENTS';

/** What the stream holds: events that somebody may wait for, and records for the audit log alone. */
export const streamSubjects = ['evt.>', 'aud.>'];

/** What every call and every refused request leaves and nobody waits for. */
export function isForAuditAlone(type: EventType): boolean {
  return type.startsWith('action.') || type === 'approval.refused' || type === 'request.refused';
}

/**
 * `evt.<component>.<type>`, or `aud.…` for what every call leaves and only audit reads: so the
 * other readers need not look at it. Each component publishes only below its own name.
 */
export function eventSubject(owner: Component, type: EventType): string {
  return `${isForAuditAlone(type) ? 'aud' : 'evt'}.${owner}.${type}`;
}

const ownerOfType = new Map(
  Object.entries(eventTypesOf).flatMap(([owner, types]) =>
    Object.keys(types).map((type) => [type as EventType, owner as Component] as const),
  ),
);

/** The component that alone may announce events of this type. */
export function ownerOf(type: EventType): Component {
  return ownerOfType.get(type) as Component;
}

/** Whether an event of this type may come under this subject, which NATS lets one component use. */
export function belongsTo(subject: string, type: EventType): boolean {
  const owner = ownerOf(type);
  return (
    subject === eventSubject(owner, type) ||
    (subject === batchSubject(owner) && isForAuditAlone(type))
  );
}

/** Where events that were published together travel as one message: a JSON array of them. */
export function batchSubject(owner: Component): string {
  return `aud.${owner}.batch`;
}

/** What the notifier announces on core NATS once an event is in its feed; gateways fan it out to readers. */
export const feedSubject = 'feed.v1';
export const feedItem = z.strictObject({
  /** Position in the feed: the SSE `id:`. */
  position: z.int().min(1),
  event: event.omit({ audit: true }),
});
export type FeedItem = z.infer<typeof feedItem>;

/** Each gateway replica says here every 2 s that it lives: rate limits are divided by their number. */
export const gatewayBeatSubject = 'beat.gateway.v1';

/** A gateway says here that the client which a read was for has gone; whichever executor runs that read ends it. */
export const clientGoneSubject = 'gone.gateway.v1';
export const clientGone = z.strictObject({ auditId: id });

/** What a component may publish on core NATS beside its calls and its own events. */
export const plainPublications = {
  gateway: [gatewayBeatSubject, clientGoneSubject],
  notifier: [feedSubject],
} as const satisfies Partial<Record<Component, readonly string[]>>;

/** Who reads the stream durably, and which subjects. */
export const durableConsumers = {
  audit: { owner: 'audit', filter: '>' },
  notifier: { owner: 'notifier', filter: 'evt.>' },
  policy: { owner: 'policy', filter: 'evt.approvals.approval.remembered' },
} as const satisfies Record<string, { owner: Component; filter: string }>;

/**
 * How the reader of a durable consumer does: `behind` when something waits and nothing of it is
 * handled, `missing` when the consumer is gone from the stream.
 */
export const readerState = z.enum(['ok', 'behind', 'missing']);
export type ReaderState = z.infer<typeof readerState>;

/** What a component that reads the stream answers to `ping`. */
export const readerPing = z.strictObject({ reading: readerState });

/** Which plain subscriptions a component may hold, to drop caches and to fan out. */
export const plainSubscriptions = {
  gateway: ['evt.auth.>', 'feed.v1', 'beat.gateway.v1'],
  auth: ['evt.auth.>'],
  registry: [],
  policy: [
    'evt.auth.>',
    'evt.registry.>',
    'evt.executor.secret.>',
    'evt.executor.connection.>',
    'evt.policy.>',
  ],
  executor: [
    'evt.registry.>',
    'evt.executor.secret.>',
    'evt.executor.connection.>',
    clientGoneSubject,
  ],
  approvals: ['evt.auth.>'],
  notifier: [],
  audit: [],
} as const satisfies Record<Component, readonly string[]>;
