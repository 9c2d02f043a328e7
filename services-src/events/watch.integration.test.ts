import { randomUUID } from 'node:crypto';

import { jetstreamManager } from '@nats-io/jetstream';
import pino from 'pino';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';

import { connectBus } from '#bus';
import { blankAuditEntry } from '#contracts/audit';
import { createTestEnvironment } from '../../test/support/environment.ts';
import type { TestEnvironment } from '../../test/support/environment.ts';
import { consumeEvents } from './consume.ts';
import { createEvent } from './outbox.ts';
import { provisionStream } from './provision.ts';
import { openPublisher } from './publish.ts';

let environment: TestEnvironment;
beforeEach(async () => {
  environment = await createTestEnvironment();
});
afterEach(() => environment[Symbol.asyncDispose]());

/** The migration's login. */
function provision() {
  const url = (environment.variables['GATEWAY_NATS_URL'] ?? '').replace('gateway:', 'provision:');
  return connectBus({ url, name: 'provision' });
}

async function publish(): Promise<void> {
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

interface Reading {
  readonly lingerMs: number;
  readonly handle?: () => Promise<void>;
  readonly behindAfterMs?: number;
}
async function read({ lingerMs, handle, behindAfterMs = 60_000 }: Reading) {
  const logged: string[] = [];
  let handled = 0;
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
      handled += events.length;
    },
  });
  return {
    logged,
    handled: () => handled,
    state: reader.state,
    [Symbol.asyncDispose]: () => reader[Symbol.asyncDispose](),
  };
}
const until = (holds: () => void) => vi.waitFor(holds, { timeout: 45_000, interval: 50 });

describe.each([0, 100])(
  'a reader that leaves events for %i ms',
  { timeout: 120_000 },
  (lingerMs) => {
    test('says once that its consumer is gone, and reads on when there is one again', async () => {
      await using reader = await read({ lingerMs });
      await publish();
      await until(() => expect(reader.handled()).toBe(1));
      expect(reader.state()).toBe('ok');

      await using bus = await provision();
      await (await jetstreamManager(bus.nats)).consumers.delete('EVENTS', 'audit');
      await until(() => expect(reader.state()).toBe('missing'));
      await provisionStream(bus, { replicas: 1 });
      await until(() => expect(reader.state()).toBe('ok'));
      await publish();
      await until(() => expect(reader.handled()).toBeGreaterThanOrEqual(2));

      expect(reader.logged).toEqual([
        'error durable consumer is missing: run migrate',
        'info events are read again',
      ]);
    });

    test('is behind while it handles nothing of what waits, and no longer when it does', async () => {
      let isBroken = true;
      await using reader = await read({
        lingerMs,
        behindAfterMs: 200,
        handle: () => (isBroken ? Promise.reject(new Error('no database')) : Promise.resolve()),
      });
      await publish();
      await until(() => expect(reader.state()).toBe('behind'));
      isBroken = false;
      await until(() => expect(reader.state()).toBe('ok'));
      expect(reader.handled()).toBe(1);
      expect(reader.logged).toEqual(['error events are left unread', 'info events are read again']);
    });
  },
);
