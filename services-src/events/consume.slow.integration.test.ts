import { randomUUID } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';

import { jetstream } from '@nats-io/jetstream';
import pino from 'pino';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';

import { blankAuditEntry } from '#contracts/audit';
import { createTestEnvironment } from '../../test/support/environment.ts';
import type { TestEnvironment } from '../../test/support/environment.ts';
import type { Event } from '../contracts/events.ts';
import { consumeEvents } from './consume.ts';
import { createEvent } from './outbox.ts';
import { openPublisher } from './publish.ts';

let environment: TestEnvironment;
beforeEach(async () => {
  environment = await createTestEnvironment();
});
afterEach(() => environment[Symbol.asyncDispose]());

const newEvent = () =>
  createEvent({
    type: 'action.outcome',
    orgId: randomUUID(),
    audience: [],
    data: {},
    audit: blankAuditEntry('Called'),
  });

async function publishOneByOne(count: number): Promise<string[]> {
  const publisher = openPublisher(
    await environment.connect('executor'),
    'executor',
    pino({ enabled: false }),
  );
  const events = Array.from({ length: count }, newEvent);
  for (const event of events) await publisher.publish(event);
  return events.map(({ id }) => id);
}

interface ReaderOptions {
  readonly lingerMs: number;
  readonly handle?: (events: Event[]) => Promise<void>;
}

/**
 * Starts a reader of the audit log's consumer, and collects the event ids of every batch that the
 * reader handles.
 */
async function startReader({ lingerMs, handle }: ReaderOptions) {
  const batches: string[][] = [];
  const reader = consumeEvents({
    bus: await environment.connectReader('audit'),
    durable: 'audit',
    lingerMs,
    logger: pino({ enabled: false }),
    async handle(events) {
      await handle?.(events);
      batches.push(events.map(({ id }) => id));
    },
  });
  return {
    batches,
    follow: reader.follow,
    [Symbol.asyncDispose]: () => reader[Symbol.asyncDispose](),
  };
}

/**
 * The timeout is longer than `ack_wait`, because events that were being delivered when a reader
 * stopped are redelivered only after `ack_wait`.
 */
const waitUntil = (expectation: () => void) =>
  vi.waitFor(expectation, { timeout: 45_000, interval: 50 });
const patientOptions = { timeout: 120_000 };

describe.each([0, 100])(
  'a reader of events that collects them for %i ms',
  patientOptions,
  (lingerMs) => {
    test('handles each event once, whether the event was published before or after the reader started', async () => {
      const earlierIds = await publishOneByOne(300);
      await using reader = await startReader({ lingerMs });
      await waitUntil(() =>
        expect(reader.batches.flat().toSorted()).toEqual(earlierIds.toSorted()),
      );

      const laterIds = await publishOneByOne(20);
      const allIds = [...earlierIds, ...laterIds].toSorted();
      await waitUntil(() => expect(reader.batches.flat().toSorted()).toEqual(allIds));
    });

    test('gets an event again after failing to handle it, and handles all other events meanwhile', async () => {
      const [bad, ...good] = await publishOneByOne(10);
      let isBroken = true;
      await using reader = await startReader({
        lingerMs,
        handle: (events) =>
          isBroken && events.some(({ id }) => id === bad)
            ? Promise.reject(new Error('cannot be handled'))
            : Promise.resolve(),
      });
      await waitUntil(() => expect(reader.batches.flat().toSorted()).toEqual(good.toSorted()));
      isBroken = false;
      await waitUntil(() => expect(reader.batches.at(-1)).toEqual([bad]));
    });

    test('gets the events that follow an empty message without waiting for a timeout', async () => {
      const { nats } = await environment.connect('executor');
      const subject = 'aud.executor.action.outcome';
      const events = Array.from({ length: 40 }, newEvent);
      for (const [at, event] of events.entries()) {
        nats.publish(subject, JSON.stringify(event));
        if (at % 10 === 5) nats.publish(subject);
      }
      await nats.flush();
      await using reader = await startReader({ lingerMs });
      // An empty message ends a delivery. A reader that then waited until its timeout for the
      // remaining messages would take longer than 12 seconds in all.
      await vi.waitFor(
        () =>
          expect(reader.batches.flat().toSorted()).toEqual(events.map(({ id }) => id).toSorted()),
        { timeout: 12_000, interval: 50 },
      );
    });

    test('leaves all events to a replica while its component takes no requests, and takes events again afterwards', async () => {
      const handled: string[] = [];
      await using replica = await startReader({ lingerMs });
      let isReady = true;
      let attemptsWhileAway = 0;
      let onChange = () => {};
      await using reader = await startReader({
        lingerMs,
        async handle(events) {
          if (!isReady) {
            attemptsWhileAway += 1;
            throw new Error('the database is gone');
          }
          handled.push(...events.map(({ id }) => id));
        },
      });
      using _following = reader.follow({
        takesRequests: () => isReady,
        onChange(listener) {
          onChange = listener;
          return { [Symbol.dispose]() {} };
        },
      });
      const setReady = (value: boolean) => {
        isReady = value;
        onChange();
      };
      await publishOneByOne(20);

      setReady(false);
      const whileAway = await publishOneByOne(50);
      await waitUntil(() =>
        expect(replica.batches.flat()).toEqual(expect.arrayContaining(whileAway)),
      );
      expect(attemptsWhileAway).toBe(0);

      await replica[Symbol.asyncDispose]();
      const whileAlone = await publishOneByOne(5);
      setReady(true);
      await waitUntil(() => expect(handled).toEqual(expect.arrayContaining(whileAlone)));
    });

    test('shares events with a replica, which handles the remaining events when the reader stops', async () => {
      const handled: string[] = [];
      const handle = (events: Event[]) => {
        handled.push(...events.map(({ id }) => id));
        return Promise.resolve();
      };
      await using _other = await startReader({ lingerMs, handle });
      const stoppingReader = await startReader({ lingerMs, handle });
      const first = await publishOneByOne(50);
      await stoppingReader[Symbol.asyncDispose]();
      const handledWhenStopped = handled.length;
      const second = await publishOneByOne(50);
      await waitUntil(() => expect(handled.toSorted()).toEqual([...first, ...second].toSorted()));
      expect(handledWhenStopped).toBeLessThanOrEqual(50);
      expect(stoppingReader.batches.flat()).not.toEqual(expect.arrayContaining([second[0]]));
    });
  },
);

test('a reader that collects events handles events together that were published one by one', async () => {
  await using reader = await startReader({ lingerMs: 1_000 });
  const events = await publishOneByOne(30);
  await waitUntil(() => expect(reader.batches.flat().toSorted()).toEqual(events.toSorted()));
  expect(reader.batches.length).toBeLessThan(5);
});

test.each([0, 100])(
  'a reader of events that collects them for %i ms handles no more than 4 MiB of messages together',
  async (lingerMs) => {
    const pad = 'x'.repeat(1024 * 1024);
    const events = Array.from({ length: 20 }, () => ({ ...newEvent(), data: { pad } }));
    const store = jetstream((await environment.connect('executor')).nats);
    for (const event of events)
      await store.publish('aud.executor.action.outcome', JSON.stringify(event));

    const handled: string[] = [];
    const batchBytes: number[] = [];
    await using _reader = consumeEvents({
      bus: await environment.connectReader('audit'),
      durable: 'audit',
      lingerMs,
      logger: pino({ enabled: false }),
      async handle(batch) {
        batchBytes.push(JSON.stringify(batch).length);
        // The next messages arrive while the first batch is being handled.
        if (batchBytes.length === 1) await delay(1_000);
        handled.push(...batch.map(({ id }) => id));
      },
    });
    await waitUntil(() =>
      expect(handled.toSorted()).toEqual(events.map(({ id }) => id).toSorted()),
    );
    expect(Math.max(...batchBytes)).toBeLessThanOrEqual(4 * 1024 * 1024);
  },
  120_000,
);
