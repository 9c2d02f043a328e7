import { randomUUID } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';

import { jetstreamManager } from '@nats-io/jetstream';
import pino from 'pino';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';

import { connectBus } from '#bus';
import { blankAuditEntry } from '#contracts/audit';
import { createTestEnvironment } from '../../test/support/environment.ts';
import type { TestEnvironment } from '../../test/support/environment.ts';
import { smallStreams } from '../../test/support/streams.ts';
import { consumeEvents } from './consume.ts';
import { createEvent } from './outbox.ts';
import { provisionStreams } from './provision.ts';
import { openPublisher } from './publish.ts';

let environment: TestEnvironment;
beforeEach(async () => {
  environment = await createTestEnvironment();
});
afterEach(() => environment[Symbol.asyncDispose]());

/** Connects as the NATS user `provision`, which the migration uses. */
function connectProvision() {
  const url = (environment.variables['GATEWAY_NATS_URL'] ?? '').replace('gateway:', 'provision:');
  return connectBus({ url, name: 'provision' });
}

async function publishTestEvent(): Promise<void> {
  const bus = await environment.connect('executor');
  await openPublisher(bus, 'executor', pino({ enabled: false })).publish(
    createEvent({
      type: 'action.outcome',
      orgId: randomUUID(),
      audience: [],
      data: {},
      audit: blankAuditEntry('Called'),
    }),
  );
}

interface ReaderOptions {
  readonly lingerMs: number;
  readonly handle?: () => Promise<void>;
  readonly behindAfterMs?: number;
}
async function startReader({ lingerMs, handle, behindAfterMs = 60_000 }: ReaderOptions) {
  const logged: string[] = [];
  let handledCount = 0;
  const reader = consumeEvents({
    bus: await environment.connectReader('audit'),
    durable: 'audit',
    lingerMs,
    checkEveryMs: 50,
    behindAfterMs,
    logger: pino(
      { level: 'info' },
      {
        write(line: string) {
          const { level, msg } = JSON.parse(line) as { level: number; msg: string };
          if (level !== pino.levels.values['warn'])
            logged.push(`${pino.levels.labels[level]} ${msg}`);
        },
      },
    ),
    async handle(events) {
      await handle?.();
      handledCount += events.length;
    },
  });
  return {
    logged,
    handled: () => handledCount,
    state: reader.state,
    [Symbol.asyncDispose]: () => reader[Symbol.asyncDispose](),
  };
}
const waitUntil = (expectation: () => void) =>
  vi.waitFor(expectation, { timeout: 45_000, interval: 50 });

describe.each([0, 100])(
  'a reader of events that collects them for %i ms',
  { timeout: 120_000 },
  (lingerMs) => {
    test('reports once that its consumer is missing, and reads again when the consumer is recreated', async () => {
      await using reader = await startReader({ lingerMs });
      await publishTestEvent();
      await waitUntil(() => expect(reader.handled()).toBe(1));
      expect(reader.state()).toBe('ok');

      await using bus = await connectProvision();
      await (await jetstreamManager(bus.nats)).consumers.delete('AUDIT', 'audit');
      await waitUntil(() => expect(reader.state()).toBe('missing'));
      await provisionStreams(bus, smallStreams);
      await waitUntil(() => expect(reader.state()).toBe('ok'));
      await publishTestEvent();
      await waitUntil(() => expect(reader.handled()).toBeGreaterThanOrEqual(2));

      expect(reader.logged).toEqual([
        'error durable consumer is missing: run migrate',
        'info events are read again',
      ]);
    });

    test('is reported as behind while it handles none of the pending events, and as ok when it handles events again', async () => {
      let isBroken = true;
      await using reader = await startReader({
        lingerMs,
        behindAfterMs: 200,
        handle: () => (isBroken ? Promise.reject(new Error('no database')) : Promise.resolve()),
      });
      await publishTestEvent();
      await waitUntil(() => expect(reader.state()).toBe('behind'));
      isBroken = false;
      await waitUntil(() => expect(reader.state()).toBe('ok'));
      expect(reader.handled()).toBe(1);
      expect(reader.logged).toEqual(['error events are left unread', 'info events are read again']);
    });
  },
);

test('a reader is not reported as behind for an event that it leaves to a later release, but is while it handles no other events', async () => {
  const { nats } = await environment.connect('approvals');
  const publishEvent = (type: string) => {
    const event = createEvent({
      type: 'approval.raised',
      orgId: randomUUID(),
      audience: [],
      data: {},
      audit: null,
    });
    nats.publish(`evt.approvals.${type}`, JSON.stringify({ ...event, type }));
  };
  const logged: string[] = [];
  let isBroken = false;
  let databaseAnswer = Promise.resolve();
  let handledCount = 0;
  await using reader = consumeEvents({
    bus: await environment.connectReader('notifier'),
    durable: 'notifier',
    checkEveryMs: 50,
    // Longer than the pause before a failed message is delivered again, and shorter than the pause
    // before a message that was left to a later release.
    behindAfterMs: 2_500,
    logger: pino({ level: 'warn' }, { write: (line: string) => void logged.push(line) }),
    async handle(events) {
      if (isBroken) throw new Error('no database');
      await databaseAnswer;
      handledCount += events.length;
    },
  });

  publishEvent('approval.postponed');
  await waitUntil(() => expect(logged.join()).toContain('event is left to a later release'));
  // Takes longer than `behindAfterMs`.
  for (let count = 1; count <= 30; count += 1) {
    publishEvent('approval.raised');
    await waitUntil(() => expect(handledCount).toBe(count));
    await delay(100);
  }
  expect(logged.join()).not.toContain('events are left unread');

  isBroken = true;
  publishEvent('approval.raised');
  await waitUntil(() => expect(reader.state()).toBe('behind'));
  isBroken = false;
  await waitUntil(() => expect(reader.state()).toBe('ok'));
  expect(handledCount).toBe(31);

  const { promise, resolve } = Promise.withResolvers<void>();
  databaseAnswer = promise;
  publishEvent('approval.raised');
  await waitUntil(() => expect(reader.state()).toBe('behind'));
  resolve();
  await waitUntil(() => expect(reader.state()).toBe('ok'));
}, 120_000);
