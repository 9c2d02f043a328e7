import { randomUUID } from 'node:crypto';

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

interface Reading {
  readonly lingerMs: number;
  readonly handle?: (events: Event[]) => Promise<void>;
}

/** The audit log's reader, and the ids of every batch that it handled. */
async function read({ lingerMs, handle }: Reading) {
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
  return { batches, [Symbol.asyncDispose]: () => reader[Symbol.asyncDispose]() };
}

/** What was on the wire to a reader at the moment that it stopped comes after `ack_wait`. */
const until = (holds: () => void) => vi.waitFor(holds, { timeout: 45_000, interval: 50 });
const patience = { timeout: 120_000 };

describe.each([0, 100])('a reader that leaves events for %i ms', patience, (lingerMs) => {
  test('handles each once, those that were there before it and those that come', async () => {
    const before = await publishOneByOne(300);
    await using reader = await read({ lingerMs });
    await until(() => expect(reader.batches.flat().toSorted()).toEqual(before.toSorted()));

    const after = await publishOneByOne(20);
    const all = [...before, ...after].toSorted();
    await until(() => expect(reader.batches.flat().toSorted()).toEqual(all));
  });

  test('gets an event again that could not be handled, and the others without it', async () => {
    const [bad, ...good] = await publishOneByOne(10);
    let isBroken = true;
    await using reader = await read({
      lingerMs,
      handle: (events) =>
        isBroken && events.some(({ id }) => id === bad)
          ? Promise.reject(new Error('cannot be handled'))
          : Promise.resolve(),
    });
    await until(() => expect(reader.batches.flat().toSorted()).toEqual(good.toSorted()));
    isBroken = false;
    await until(() => expect(reader.batches.at(-1)).toEqual([bad]));
  });

  test('shares them with a replica, and leaves the rest to it when it stops', async () => {
    const handled: string[] = [];
    const handle = (events: Event[]) => {
      handled.push(...events.map(({ id }) => id));
      return Promise.resolve();
    };
    await using _other = await read({ lingerMs, handle });
    const stopping = await read({ lingerMs, handle });
    const first = await publishOneByOne(50);
    await stopping[Symbol.asyncDispose]();
    const stoppedAt = handled.length;
    const second = await publishOneByOne(50);
    await until(() => expect(handled.toSorted()).toEqual([...first, ...second].toSorted()));
    expect(stoppedAt).toBeLessThanOrEqual(50);
    expect(stopping.batches.flat()).not.toEqual(expect.arrayContaining([second[0]]));
  });
});

test('events that come one by one are handled together by a reader that leaves them a while', async () => {
  await using reader = await read({ lingerMs: 1_000 });
  const events = await publishOneByOne(30);
  await until(() => expect(reader.batches.flat().toSorted()).toEqual(events.toSorted()));
  expect(reader.batches.length).toBeLessThan(5);
});
