import { randomUUID } from 'node:crypto';

import { headers as createHeaders } from '@nats-io/transport-node';

import type { Bus } from '#bus';
import { AppError } from '#errors';
import { handleInGroups } from '#process';
import type { Logger } from '#telemetry';
import { auditStream, batchSubjectOf, recordSubjectOf } from '../contracts/events.ts';
import type { Event } from '../contracts/events.ts';
import type { Component } from '../contracts/vocabulary.ts';
import { batchLimitsOf, messageBytesMax } from './batch-limits.ts';
import { publishInSpan } from './event-spans.ts';

export interface Publisher {
  /** Resolves when JetStream has stored the event; throws `unavailable` otherwise. */
  publish(event: Event): Promise<void>;
}

interface SerialisedEvent {
  readonly event: Event;
  /** The event as JSON. */
  readonly body: string;
  readonly bytes: number;
}

const timeoutMs = 2_000;

/**
 * Publishes records directly to the stream AUDIT. Only events that accompany no change in the
 * database (reads, and refusals by the gateway) are published in this way, and only the audit log
 * reads them; all others go through the outbox.
 *
 * One message is sent at a time, with all events that arrived while the one before it was sent: under
 * load they share the cost of a message at JetStream and at the reader.
 */
export function openPublisher(bus: Bus, owner: Component, logger: Logger): Publisher {
  const sendBatch = async (batch: readonly SerialisedEvent[]): Promise<readonly undefined[]> => {
    const [first] = batch;
    if (first === undefined) return [];
    const isAlone = batch.length === 1;
    const subject = isAlone ? recordSubjectOf(owner, first.event.type) : batchSubjectOf(owner);
    const body = isAlone ? first.body : `[${batch.map((each) => each.body).join()}]`;
    try {
      await storeEvent(bus, logger, { subject, body, id: first.event.id });
      return batch.map(() => undefined);
    } catch (cause) {
      throw notRecorded(cause);
    }
  };
  const sendInBatches = handleInGroups({
    ...batchLimitsOf(bus, ({ bytes }: SerialisedEvent) => bytes),
    handle: sendBatch,
  });
  const queueEvent = (event: Event) =>
    sendInBatches({ event, ...serialiseEvent(event, messageBytesMax(bus), logger) });

  return { publish: (event) => publishInSpan(auditStream, event, queueEvent) };
}

/**
 * Serialises an event. When it is too large for the server, its disclosed values are cut and marked
 * as truncated: an incomplete record is better than none.
 */
function serialiseEvent(
  event: Event,
  bytesMax: number,
  logger: Logger,
): Pick<SerialisedEvent, 'body' | 'bytes'> {
  const body = JSON.stringify(event);
  const bytes = Buffer.byteLength(body);
  const { audit } = event;
  if (bytes <= bytesMax || audit === null) return { body, bytes };
  logger.warn({ id: event.id, type: event.type, bytes }, 'disclosed values of a record are cut');
  const fields = audit.disclosed;
  const disclosedBytes = Buffer.byteLength(JSON.stringify(fields));
  // Every value is cut to one common length, so that a part of each is kept. A character takes at
  // most six bytes in JSON.
  const bytesLeft = Math.max(0, bytesMax - (bytes - disclosedBytes) - 500 * fields.length);
  const charactersMax = Math.floor(bytesLeft / fields.length / 6);
  const disclosed = fields.map((field) =>
    field.value.length <= charactersMax
      ? field
      : { ...field, value: field.value.slice(0, charactersMax).toWellFormed(), truncated: true },
  );
  const shortenedEvent = JSON.stringify({ ...event, audit: { ...audit, disclosed } });
  return { body: shortenedEvent, bytes: Buffer.byteLength(shortenedEvent) };
}

interface Publication {
  readonly subject: string;
  readonly body: string;
  /** The id by which the stream recognises duplicates. */
  readonly id: string;
}

/**
 * Publishes a new event. The stream de-duplicates event ids across all publishers: when it already
 * knows the id, another component has used that id, or another executor has recorded the same read,
 * and the stream did not store this event. The event is then published again under a random id that cannot be guessed.
 */
async function storeEvent(bus: Bus, logger: Logger, publication: Publication): Promise<void> {
  if (await publishOnce(bus, publication)) return;
  const { subject, id } = publication;
  logger.error({ subject, id }, 'another component or replica has published under this id');
  if (await publishOnce(bus, { ...publication, id: randomUUID() })) return;
  throw new Error('The stream says twice that it has the event already.');
}

/**
 * Publishes, and waits for the stream's acknowledgement. Returns false when the stream already knew
 * the id and stored nothing. A stream answers a publication like any request (NATS ADR-22), so this
 * uses our cheaper request instead of the client library's `publish` (docs/adr/0015).
 */
async function publishOnce(
  { requests }: Bus,
  { subject, body, id }: Publication,
): Promise<boolean> {
  const headers = createHeaders();
  headers.set('Nats-Msg-Id', id);
  const reply = await requests.request(subject, body, { timeoutMs, headers });
  const acknowledged = reply.json<Record<'seq' | 'duplicate' | 'error', unknown>>();
  if (acknowledged.error !== undefined || typeof acknowledged.seq !== 'number') {
    throw new Error('The stream refused the event.', { cause: acknowledged.error });
  }
  return acknowledged.duplicate !== true;
}

function notRecorded(cause: unknown): AppError {
  return new AppError(
    'unavailable',
    'The event could not be recorded, so nothing more is done; try again shortly.',
    { cause },
  );
}
