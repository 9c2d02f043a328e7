import { z } from 'zod';

import { auditEntry } from './audit.ts';
import { id, json, timestamp } from './vocabulary.ts';
import type { Component } from './vocabulary.ts';

/**
 * Everything that is announced, and whether subscribers of webhooks and SSE may see it.
 * `internal` events drop caches, plant rules or only leave an audit row.
 */
export const eventTypes = {
  'approval.raised': 'public',
  'approval.bubbled': 'public',
  'approval.resolved': 'public',
  'approval.remembered': 'internal',
  'execution.started': 'internal',
  'execution.finished': 'public',
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
  'rule.created': 'public',
  'rule.deleted': 'public',
  'service.created': 'internal',
  'service.changed': 'internal',
  'service.deleted': 'internal',
  'registry.changed': 'internal',
  'template.saved': 'internal',
  'template.published': 'internal',
  'template.disabled': 'internal',
  'template.enabled': 'internal',
  'template.deleted': 'internal',
  'webhook.created': 'internal',
  'webhook.changed': 'internal',
  'webhook.deleted': 'internal',
  'webhook.disabled': 'public',
  'action.intent': 'internal',
  'action.outcome': 'internal',
  'action.denied': 'internal',
  'action.refused': 'internal',
} as const satisfies Record<string, 'public' | 'internal'>;

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

/** What every call leaves and nobody waits for. */
export function isForAuditAlone(type: EventType): boolean {
  return type.startsWith('action.');
}

/**
 * `evt.<component>.<type>`, or `aud.…` for what every call leaves and only audit reads: so the
 * other readers need not look at it. Each component publishes only below its own name.
 */
export function eventSubject(owner: Component, type: EventType): string {
  return `${isForAuditAlone(type) ? 'aud' : 'evt'}.${owner}.${type}`;
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

/** What a component may publish on core NATS beside its calls and its own events. */
export const plainPublications = {
  gateway: [gatewayBeatSubject],
  notifier: [feedSubject],
} as const satisfies Partial<Record<Component, readonly string[]>>;

/** Who reads the stream durably, and which subjects. */
export const durableConsumers = {
  audit: { owner: 'audit', filter: '>' },
  notifier: { owner: 'notifier', filter: 'evt.>' },
  policy: { owner: 'policy', filter: 'evt.approvals.approval.remembered' },
} as const satisfies Record<string, { owner: Component; filter: string }>;

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
  executor: ['evt.registry.>', 'evt.executor.secret.>', 'evt.executor.connection.>'],
  approvals: ['evt.auth.>'],
  notifier: [],
  audit: [],
} as const satisfies Record<Component, readonly string[]>;
