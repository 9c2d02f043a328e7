import { hash } from 'node:crypto';

import {
  jetstream,
  JetStreamApiCodes,
  JetStreamApiError,
  jetstreamManager,
} from '@nats-io/jetstream';
import { errors } from '@nats-io/transport-node';

import { storeApi } from '#bus';
import type { Bus } from '#bus';
import { countFitting } from '#process';
import {
  auditStream,
  batchSubjectOf,
  eventSubjectOf,
  isForAuditAlone,
  recordSubjectOf,
} from '../contracts/events.ts';
import type { Event, StreamName } from '../contracts/events.ts';
import type { Component } from '../contracts/vocabulary.ts';
import { batchLimitsOf } from './batch-limits.ts';
import type { OutboxRow } from './outbox.sql.ts';

const timeoutMs = 5_000;

export interface PublishedRows {
  /** The rows that the stream has stored, and the rows that have no message for the stream. */
  readonly storedRows: readonly OutboxRow[];
  /**
   * Whether the stream has accepted a message. `storedRows` alone does not show this, because of
   * the rows without a message for the stream.
   */
  readonly hasTaken: boolean;
  readonly failure: Error | undefined;
}

export type PublishRows = (
  stream: StreamName,
  rows: readonly OutboxRow[],
) => Promise<PublishedRows>;

/**
 * Publishes rows of an outbox to one stream. A duplicate counts as stored, because a relay that
 * died may already have published the row. A message that another stream takes instead counts as
 * failed: until `migrate` has split the single stream of an earlier version, that stream takes the
 * messages of both.
 */
export function openRowPublisher(bus: Bus, owner: Component): PublishRows {
  const store = jetstream(bus.nats, { timeout: timeoutMs });
  const manager = jetstreamManager(bus.nats, { checkAPI: false, apiPrefix: storeApi });
  /**
   * NATS reports no responders for a stream that is missing and also, for a moment, for a stream
   * whose server restarts. This function asks the server which is the case.
   */
  const explainFailure = async (stream: StreamName, failure: Error | undefined) => {
    const { cause } = failure ?? {};
    if (!(cause instanceof errors.RequestError && cause.isNoResponders())) return failure;
    return (await manager).streams.info(stream).then(
      () => failure,
      (error: unknown) => (error instanceof JetStreamApiError ? error : failure),
    );
  };
  const limits = batchLimitsOf<OutboxRow>(bus, ({ body }) => Buffer.byteLength(body));
  return async (stream, rows) => {
    const isInBatch = ({ type }: OutboxRow) => stream === auditStream && isForAuditAlone(type);
    // The rows keep their order, so that the audit log has the events of a call as they happened.
    const groups: OutboxRow[][] = [];
    const remaining = [...rows];
    while (remaining.length > 0) {
      const otherIndex = remaining.findIndex((row) => !isInBatch(row));
      const together = otherIndex === -1 ? remaining : remaining.slice(0, otherIndex);
      groups.push(remaining.splice(0, Math.max(1, countFitting(together, limits))));
    }
    let hasTaken = false;
    const storedRows = new Set<OutboxRow>();
    const publishGroup = async (group: readonly OutboxRow[]): Promise<void> => {
      const message = messageOf(owner, stream, group);
      if (message !== undefined) {
        const { subject, body, id } = message;
        await store.publish(subject, body, { msgID: id, expect: { streamName: stream } });
        hasTaken = true;
      }
      for (const row of group) storedRows.add(row);
    };
    const publishResults = await Promise.allSettled(
      groups.map((group) =>
        publishGroup(group).catch(async (error: Error) => {
          // A stream that has no room for all of them may have room for some.
          if (group.length === 1 || !isRefusedByStream(error)) throw error;
          for (const row of group) await publishGroup([row]);
        }),
      ),
    );
    const failedResult = publishResults.find((each) => each.status === 'rejected');
    return {
      storedRows: rows.filter((row) => storedRows.has(row)),
      hasTaken,
      failure: await explainFailure(stream, failedResult?.reason as Error | undefined),
    };
  };
}

/** The server's error codes for a stream that is full, or whose account or disk is full. */
const noRoomCodes: readonly number[] = [10_002, 10_023, 10_047, 10_077];

/**
 * Whether a publication failed because the stream is full or missing, so that further ones would
 * fail as well.
 */
export function isRefusedByStream(failure: Error | undefined): boolean {
  if (!(failure instanceof JetStreamApiError)) return false;
  return failure.code === JetStreamApiCodes.StreamNotFound || noRoomCodes.includes(failure.code);
}

/**
 * The message that a stream gets for rows; undefined when it gets none. AUDIT gets the record of
 * an event, without the event's data if EVENTS gets the event too. EVENTS gets the event without
 * its record. Only records that nobody but audit reads are several in one message. Its id, by which
 * the stream recognises a duplicate, is made from the ids of all rows: a relay that repeats only
 * some of them, or further ones with them, sends another message.
 */
function messageOf(
  owner: Component,
  stream: StreamName,
  rows: readonly OutboxRow[],
): { subject: string; body: string; id: string } | undefined {
  const [first] = rows;
  if (first === undefined) return undefined;
  if (rows.length > 1) {
    const body = `[${rows.map((row) => row.body).join()}]`;
    return {
      subject: batchSubjectOf(owner),
      body,
      id: hash('sha256', rows.map(({ id }) => id).join()),
    };
  }
  const { id, type, body } = first;
  if (stream === auditStream) {
    const subject = recordSubjectOf(owner, type);
    if (isForAuditAlone(type)) return { subject, body, id };
    const event = JSON.parse(body) as Event;
    if (event.audit === null) return undefined;
    return { subject, body: JSON.stringify({ ...event, data: {} }), id };
  }
  if (isForAuditAlone(type)) return undefined;
  const event = { ...(JSON.parse(body) as Event), audit: null };
  return { subject: eventSubjectOf(owner, type), body: JSON.stringify(event), id };
}
