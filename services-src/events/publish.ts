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
  readonly settle: (failure?: AppError) => void;
}

/** Keeps a message well below what NATS accepts. */
const batchMax = 64;
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
    const body = isAlone ? first.event : batch.map(({ event }) => event);
    try {
      await store(bus, logger, { subject, body: JSON.stringify(body), id: first.event.id });
      for (const { settle } of batch) settle();
    } catch (cause) {
      for (const { settle } of batch) settle(notRecorded(cause));
    }
  };
  const pump = async (): Promise<void> => {
    if (isSending) return;
    isSending = true;
    while (waiting.length > 0) {
      const batch = waiting.slice(0, batchMax);
      waiting = waiting.slice(batchMax);
      await send(batch);
    }
    isSending = false;
  };

  return {
    publish: (event) =>
      new Promise((resolve, reject) => {
        waiting.push({ event, settle: (failure) => (failure ? reject(failure) : resolve()) });
        void pump();
      }),
  };
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
