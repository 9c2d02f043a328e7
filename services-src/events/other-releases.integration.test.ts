import { randomUUID } from 'node:crypto';

import { jetstream, jetstreamManager } from '@nats-io/jetstream';
import pino from 'pino';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';

import { storeApi } from '#bus';
import type { Bus } from '#bus';
import { eventsStream } from '#contracts/events';
import { createTestEnvironment } from '../../test/support/environment.ts';
import type { TestEnvironment } from '../../test/support/environment.ts';
import { consumeEvents } from './consume.ts';
import { createEvent } from './outbox.ts';

let environment: TestEnvironment;
beforeAll(async () => {
  environment = await createTestEnvironment();
});
afterAll(() => environment[Symbol.asyncDispose]());

const raisedSubject = 'evt.approvals.approval.raised';
const newEvent = () =>
  createEvent({
    type: 'approval.raised',
    orgId: randomUUID(),
    audience: [],
    data: {},
    audit: null,
  });
const waitUntil = (expectation: () => Promise<void> | void) =>
  vi.waitFor(expectation, { timeout: 30_000, interval: 50 });

/** The number of events that the notifier has neither handled nor dropped. */
async function countLeft(bus: Bus): Promise<number> {
  const manager = await jetstreamManager(bus.nats, { checkAPI: false, apiPrefix: storeApi });
  const { num_ack_pending, num_pending } = await manager.consumers.info(eventsStream, 'notifier');
  return num_ack_pending + num_pending;
}

test('a reader leaves messages that it cannot read to a later release, and handles all others', async () => {
  const approvals = jetstream((await environment.connect('approvals')).nats);
  const bus = await environment.connectReader('notifier');
  const handled: string[] = [];
  const logged: string[] = [];
  await using _reader = consumeEvents({
    bus,
    durable: 'notifier',
    logger: pino({ level: 'warn' }, { write: (line: string) => void logged.push(line) }),
    handle: async (events) => void handled.push(...events.map(({ id }) => id)),
  });
  const [before, added, after] = [newEvent(), newEvent(), newEvent()];
  await approvals.publish(raisedSubject, JSON.stringify(before));
  await approvals.publish(raisedSubject, 'no JSON');
  await approvals.publish(
    'evt.approvals.approval.postponed',
    JSON.stringify({ ...newEvent(), type: 'approval.postponed' }),
  );
  await approvals.publish(raisedSubject, JSON.stringify({ ...added, priority: 'high' }));
  await approvals.publish(raisedSubject, JSON.stringify(after));

  const expected = [before.id, added.id, after.id].toSorted();
  await waitUntil(() => expect(handled.toSorted()).toEqual(expected));
  await waitUntil(async () => expect(await countLeft(bus)).toBe(2));
  const lines = logged.map((line) => JSON.parse(line) as { msg: string; subject: string });
  expect(lines).toMatchObject([
    { msg: 'event is left to a later release', subject: raisedSubject },
    { msg: 'event is left to a later release', subject: 'evt.approvals.approval.postponed' },
  ]);
});

test('a reader leaves an event whose content makes it fail to a later release, and handles all others', async () => {
  const approvals = jetstream((await environment.connect('approvals')).nats);
  const bus = await environment.connectReader('notifier');
  const leftBefore = await countLeft(bus);
  const handled: string[] = [];
  const logged: string[] = [];
  await using _reader = consumeEvents({
    bus,
    durable: 'notifier',
    logger: pino({ level: 'warn' }, { write: (line: string) => void logged.push(line) }),
    // Fails like a component that stores the events: this event is nested too deeply to be written
    // as JSON.
    handle: async (events) => {
      for (const { id, data } of events) if (JSON.stringify(data) !== '') handled.push(id);
    },
  });
  const [unfit, after] = [newEvent(), newEvent()];
  const deep = `${'['.repeat(100_000)}${']'.repeat(100_000)}`;
  const body = JSON.stringify({ ...unfit, data: { later: '(deep)' } });
  await approvals.publish(raisedSubject, body.replace('"(deep)"', deep));
  await approvals.publish(raisedSubject, JSON.stringify(after));

  await waitUntil(() => expect(new Set(handled)).toEqual(new Set([after.id])));
  await waitUntil(() => expect(logged.join()).toContain('event is left to a later release'));
  await waitUntil(async () => expect(await countLeft(bus)).toBe(leftBefore + 1));
});
