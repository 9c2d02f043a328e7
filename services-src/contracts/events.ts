import { z } from 'zod';

import { auditEntry } from './audit.ts';
import { eventTypes, eventTypesOf } from './event-types.ts';
import type { EventType } from './event-types.ts';
import { components, id, json, timestamp } from './vocabulary.ts';
import type { Component } from './vocabulary.ts';

export { eventTypes, publicEventTypes } from './event-types.ts';
export type { EventType } from './event-types.ts';

export const eventType = z.enum(Object.keys(eventTypes) as [EventType, ...EventType[]]);

/**
 * One event. `data` is the public body for public types. `audience` lists the identities that the
 * event concerns: they, their ancestors and org admins may see it. `audit` becomes a row of the
 * audit log; it travels in the stream AUDIT alone, so it is null in the stream EVENTS.
 */
export const event = z.strictObject({
  id,
  type: eventType,
  created_at: timestamp,
  org_id: id,
  audience: z.array(id).max(20),
  data: z.record(z.string(), json),
  audit: auditEntry.nullable(),
  /**
   * The sampled span that the event comes from (W3C Trace Context, as in CloudEvents), so that its
   * readers continue the trace. Never shown.
   */
  traceparent: z.string().max(128).optional(),
});
export type Event = z.infer<typeof event>;

/** An event as a reader gets it. */
export interface ReceivedEvent extends Event {
  /**
   * The members that a later release added and that this release dropped, as JSON by their paths;
   * absent when there are none.
   */
  readonly unread?: string;
}

/** The parts that are known of a message that this release cannot read. */
export interface UnreadableEvent {
  /** The same id for every delivery of the message. */
  readonly id: string;
  /** Null when the org cannot be read either. */
  readonly orgId: string | null;
  readonly subject: string;
  readonly body: Uint8Array;
}

/** The stream of the records for the audit log. Only the audit component reads it. */
export const auditStream = 'AUDIT';
/** The stream of events for every other reader. */
export const eventsStream = 'EVENTS';
export const streams = [auditStream, eventsStream] as const;
export type StreamName = (typeof streams)[number];

/** The subjects of each stream. */
export const streamSubjects = { AUDIT: 'aud.>', EVENTS: 'evt.>' } as const satisfies Record<
  StreamName,
  string
>;

/**
 * Whether only the component audit reads events of this type: records of calls and of refusals.
 * They are published to the stream AUDIT and not to EVENTS.
 */
export function isForAuditAlone(type: EventType): boolean {
  return (
    type.startsWith('action.') ||
    type === 'approval.refused' ||
    type === 'request.refused' ||
    type === 'event.refused'
  );
}

/**
 * `evt.<component>.<type>`: the subject of an event in the stream EVENTS. Each component publishes
 * only below its own name.
 */
export function eventSubjectOf(owner: Component, type: string): string {
  return `evt.${owner}.${type}`;
}

/** `aud.<component>.<type>`: the subject of an event's record in the stream AUDIT. */
export function recordSubjectOf(owner: Component, type: string): string {
  return `aud.${owner}.${type}`;
}

const ownerOfType = new Map(
  Object.entries(eventTypesOf).flatMap(([owner, types]) =>
    Object.keys(types).map((type) => [type as EventType, owner as Component] as const),
  ),
);

/** The only component that may publish events of this type. */
export function ownerOf(type: EventType): Component {
  return ownerOfType.get(type) as Component;
}

/**
 * Whether an event of this type may arrive under this subject. NATS lets each component publish
 * only under its own subjects.
 */
export function isAllowedSubject(subject: string, type: EventType): boolean {
  const owner = ownerOf(type);
  if (subject === recordSubjectOf(owner, type)) return true;
  return subject === (isForAuditAlone(type) ? batchSubjectOf(owner) : eventSubjectOf(owner, type));
}

/**
 * Whether an event of a type that this release does not know may arrive under this subject: a later
 * release of the component that owns the subject may have such a type.
 */
export function mayBeOfLaterRelease(subject: string, unknownType: string): boolean {
  return components.some((owner) =>
    [
      recordSubjectOf(owner, unknownType),
      eventSubjectOf(owner, unknownType),
      batchSubjectOf(owner),
    ].includes(subject),
  );
}

/** The subject of messages that carry several records published together, as a JSON array. */
export function batchSubjectOf(owner: Component): string {
  return `aud.${owner}.batch`;
}

/**
 * The subject on core NATS on which the notifier publishes an item once it is in the feed; gateways
 * pass it on to SSE readers.
 */
export const feedSubject = 'feed.v1';
export const feedItem = z.strictObject({
  /** The position in the feed, which is the SSE `id:`. */
  position: z.int().min(1),
  event: event.omit({ audit: true, traceparent: true }),
});
export type FeedItem = z.infer<typeof feedItem>;

/**
 * Each gateway replica publishes here every 2 s; rate limits are divided by the number of live
 * replicas.
 */
export const gatewayBeatSubject = 'beat.gateway.v1';

/**
 * A gateway publishes here when the client of a read has disconnected; the executor that runs the
 * read ends it.
 */
export const clientGoneSubject = 'gone.gateway.v1';
export const clientGone = z.strictObject({ auditId: id });

/**
 * Each executor publishes here every 500 ms which calls it has in hand, so that a gateway notices
 * when the executor of a call is dead.
 */
export const executorBeatSubject = 'beat.executor.v1';
/** The calls in one beat; an executor with more of them publishes several beats. */
export const beatCallsMax = 500;
/**
 * A beat names a call by a digest of its audit id (`callMarkOf`). With the audit id of a read, a
 * component could end that read, and only the gateway that made it may do so. A later release may add
 * members.
 */
export const executorBeat = z.object({
  calls: z.array(z.string().length(16)).min(1).max(beatCallsMax),
});

/**
 * The subjects on core NATS to which a component may publish, besides its requests and its own
 * events.
 */
export const plainPublications = {
  gateway: [gatewayBeatSubject, clientGoneSubject],
  executor: [executorBeatSubject],
  notifier: [feedSubject],
} as const satisfies Partial<Record<Component, readonly string[]>>;

/**
 * The components that read a stream through a durable consumer, and the subjects they read. AUDIT
 * is a work queue, which has exactly one consumer.
 */
export const durableConsumers = {
  audit: { stream: auditStream, owner: 'audit', filter: 'aud.>' },
  notifier: { stream: eventsStream, owner: 'notifier', filter: 'evt.>' },
  policy: { stream: eventsStream, owner: 'policy', filter: 'evt.approvals.approval.remembered' },
} as const satisfies Record<string, { stream: StreamName; owner: Component; filter: string }>;
export type DurableConsumerName = keyof typeof durableConsumers;

/** The components that publish events from an outbox table. */
export const outboxOwners = [
  'auth',
  'registry',
  'policy',
  'executor',
  'approvals',
  'notifier',
] as const satisfies readonly Component[];
export type OutboxOwner = (typeof outboxOwners)[number];

/**
 * The state of the reader of a durable consumer: `behind` when events wait and none is being
 * handled, `missing` when the stream has no such consumer.
 */
export const readerState = z.enum(['ok', 'behind', 'missing']);
export type ReaderState = z.infer<typeof readerState>;

const count = z.int().min(0);
const wholeSeconds = z.int().min(0);

/** How full a stream is. `degraded` means that at least 80 % of its bytes are used. */
export const streamState = z.strictObject({
  status: z.enum(['ok', 'degraded', 'missing', 'unknown']),
  fill_percent: z.number().min(0),
  messages: count,
  bytes: count,
  bytes_max: z.int(),
  oldest_seconds: wholeSeconds,
});
export type StreamState = z.infer<typeof streamState>;

/** How far a durable consumer has read. */
export const consumerState = z.strictObject({
  status: z.enum([...readerState.options, 'unknown']),
  /** Messages that are not acknowledged yet. */
  waiting: count,
  /** For how long no message was delivered or acknowledged. */
  unread_seconds: wholeSeconds,
});
export type ConsumerState = z.infer<typeof consumerState>;

/** The rows of an outbox that are not published yet, counted up to 10,000. */
export const outboxState = z.strictObject({ waiting: count, oldest_seconds: wholeSeconds });
export type OutboxState = z.infer<typeof outboxState>;

/**
 * What a component with an outbox answers to `ping`. A replica of an earlier version leaves
 * `outbox` out.
 */
export const outboxPing = z.strictObject({ outbox: outboxState.optional() });
/** What a component that reads a stream answers to `ping`. */
export const readerPing = z.strictObject({ reading: readerState });

/** The plain subscriptions that a component may hold, to drop caches and to fan out events. */
export const plainSubscriptions = {
  gateway: ['evt.auth.>', 'feed.v1', 'beat.gateway.v1', executorBeatSubject],
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
    'evt.auth.>',
    'evt.registry.>',
    'evt.executor.secret.>',
    'evt.executor.connection.>',
    clientGoneSubject,
  ],
  approvals: ['evt.auth.>'],
  notifier: [],
  audit: [],
} as const satisfies Record<Component, readonly string[]>;
