import { randomUUID } from 'node:crypto';

import { headers as createHeaders } from '@nats-io/transport-node';

import type { Bus } from '#bus';
import { AppError } from '#errors';
import type { Logger } from '#telemetry';
import { batchSubject, eventSubject } from '../contracts/events.ts';
import type { Event } from '../contracts/events.ts';
import type { Component } from '../contracts/vocabulary.ts';

export interface Publisher {
  /** Resolves once JetStream has the event; throws `unavailable` otherwise. */
  publish(event: Event): Promise<void>;
}

interface Waiting {
  readonly event: Event;
  /** As it travels. */
  readonly body: string;
  readonly bytes: number;
  readonly settle: (failure?: AppError) => void;
}

const batchMax = 64;
/** Of one message; a larger event goes alone. */
const batchBytesMax = 1_048_576;
/** Beside the body, of what NATS takes as one message: headers and the brackets of a list. */
const overheadBytes = 1_024;
const timeoutMs = 2_000;

/**
 * Publishes events straight to the stream, for what has no row of its own to commit with
 * (reads, refusals at the edge). Everything else goes through the outbox.
 *
 * One message is on its way at a time, and what arrives meanwhile leaves together in the next:
 * under load the cost of a message, at JetStream and at its reader, is shared, and a call alone
 * waits for nobody.
 */
export function openPublisher(bus: Bus, owner: Component, logger: Logger): Publisher {
  let waiting: Waiting[] = [];
  let isSending = false;

  const send = async (batch: readonly Waiting[]): Promise<void> => {
    const [first] = batch;
    if (first === undefined) return;
    const isAlone = batch.length === 1;
    const subject = isAlone ? eventSubject(owner, first.event.type) : batchSubject(owner);
    const body = isAlone ? first.body : `[${batch.map((each) => each.body).join()}]`;
    try {
      await store(bus, logger, { subject, body, id: first.event.id });
      for (const { settle } of batch) settle();
    } catch (cause) {
      for (const { settle } of batch) settle(notRecorded(cause));
    }
  };
  const pump = async (): Promise<void> => {
    if (isSending) return;
    isSending = true;
    while (waiting.length > 0) {
      const count = countFitting(waiting, messageBytesMax(bus));
      const batch = waiting.slice(0, count);
      waiting = waiting.slice(count);
      await send(batch);
    }
    isSending = false;
  };

  return {
    publish: (event) =>
      new Promise((resolve, reject) => {
        const settle = (failure?: AppError) => (failure ? reject(failure) : resolve());
        waiting.push({ event, ...written(event, messageBytesMax(bus), logger), settle });
        void pump();
      }),
  };
}

/** What the server takes as one message, without the overhead. */
function messageBytesMax({ nats }: Bus): number {
  return (nats.info?.max_payload ?? batchBytesMax) - overheadBytes;
}

/** How many of those that wait go as one message: at least one. */
function countFitting(waiting: readonly Waiting[], bytesMax: number): number {
  const max = Math.min(batchBytesMax, bytesMax);
  let bytes = 0;
  let count = 0;
  for (const each of waiting) {
    bytes += each.bytes + 1;
    if (count === batchMax || (count > 0 && bytes > max)) break;
    count += 1;
  }
  return count;
}

/**
 * An event as text. Where the server would not take it, its disclosed values are cut, and say so: a
 * record that is not complete is worth more than none.
 */
function written(event: Event, bytesMax: number, logger: Logger): Pick<Waiting, 'body' | 'bytes'> {
  const body = JSON.stringify(event);
  const bytes = Buffer.byteLength(body);
  const { audit } = event;
  if (bytes <= bytesMax || audit === null) return { body, bytes };
  logger.warn({ id: event.id, type: event.type, bytes }, 'disclosed values of a record are cut');
  const fields = audit.disclosed;
  const inDisclosed = Buffer.byteLength(JSON.stringify(fields));
  // Evenly, so that a part of each is kept; a character takes six bytes at most.
  const left = Math.max(0, bytesMax - (bytes - inDisclosed) - 500 * fields.length);
  const charactersMax = Math.floor(left / fields.length / 6);
  const disclosed = fields.map((field) =>
    field.value.length <= charactersMax
      ? field
      : { ...field, value: field.value.slice(0, charactersMax).toWellFormed(), truncated: true },
  );
  const cut = JSON.stringify({ ...event, audit: { ...audit, disclosed } });
  return { body: cut, bytes: Buffer.byteLength(cut) };
}

interface Publication {
  readonly subject: string;
  readonly body: string;
  /** By which the stream recognises a second publication of the same. */
  readonly id: string;
}

/**
 * Publishes what was never published before. De-duplication is per stream, not per publisher: where
 * the stream knows the id already, another component has used it, and this message was not
 * stored. It goes once more under an id that nobody can have seen.
 */
async function store(bus: Bus, logger: Logger, publication: Publication): Promise<void> {
  if (await ask(bus, publication)) return;
  const { subject, id } = publication;
  logger.error({ subject, id }, 'somebody else has published under this id');
  if (await ask(bus, { ...publication, id: randomUUID() })) return;
  throw new Error('The stream says twice that it has the event already.');
}

/**
 * Publishes and waits for the stream's word: whether it stored this, rather than known the id. A
 * stream answers a publication like any request (NATS: ADR-22); the client library's own `publish`
 * asks by its costly `request` (docs/adr/0015).
 */
async function ask({ requests }: Bus, { subject, body, id }: Publication): Promise<boolean> {
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
