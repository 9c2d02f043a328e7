import {
  jetstream,
  JetStreamApiCodes,
  JetStreamApiError,
  jetstreamManager,
} from '@nats-io/jetstream';
import { errors } from '@nats-io/transport-node';

import { storeApi } from '#bus';
import type { Bus } from '#bus';
import {
  auditStream,
  eventSubjectOf,
  isForAuditAlone,
  recordSubjectOf,
} from '../contracts/events.ts';
import type { Event, StreamName } from '../contracts/events.ts';
import type { Component } from '../contracts/vocabulary.ts';
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
  return async (stream, rows) => {
    let hasTaken = false;
    const publishResults = await Promise.allSettled(
      rows.map(async (row) => {
        const message = messageOf(owner, stream, row);
        if (message === undefined) return;
        const { subject, body } = message;
        await store.publish(subject, body, { msgID: row.id, expect: { streamName: stream } });
        hasTaken = true;
      }),
    );
    const failedResult = publishResults.find((each) => each.status === 'rejected');
    return {
      storedRows: rows.filter((_, at) => publishResults[at]?.status === 'fulfilled'),
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
 * The message that a stream gets for a row; undefined when it gets none. AUDIT gets the record of
 * an event, without the event's data if EVENTS gets the event too. EVENTS gets the event without
 * its record.
 */
function messageOf(
  owner: Component,
  stream: StreamName,
  { type, body }: OutboxRow,
): { subject: string; body: string } | undefined {
  if (stream === auditStream) {
    const subject = recordSubjectOf(owner, type);
    if (isForAuditAlone(type)) return { subject, body };
    const event = JSON.parse(body) as Event;
    if (event.audit === null) return undefined;
    return { subject, body: JSON.stringify({ ...event, data: {} }) };
  }
  if (isForAuditAlone(type)) return undefined;
  const event = { ...(JSON.parse(body) as Event), audit: null };
  return { subject: eventSubjectOf(owner, type), body: JSON.stringify(event) };
}
