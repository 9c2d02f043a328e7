import { randomUUID } from 'node:crypto';

import { jetstreamManager } from '@nats-io/jetstream';
import type { JetStreamManager } from '@nats-io/jetstream';
import { errors } from '@nats-io/transport-node';
import pino from 'pino';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';

import { connectBus } from '#bus';
import type { Bus } from '#bus';
import { blankAuditEntry } from '#contracts/audit';
import type { DurableConsumerName, Event, EventType } from '#contracts/events';
import { openDatabase } from '#database';
import type { Database } from '#database';
import { createTestEnvironment } from '../../test/support/environment.ts';
import type { TestEnvironment } from '../../test/support/environment.ts';
import { smallStreams } from '../../test/support/streams.ts';
import { consumeEvents } from './consume.ts';
import { appendEvent } from './outbox.ts';
import { provisionStreams } from './provision.ts';
import { createRelayBatches } from './relay-batches.ts';
import { startRelay } from './relay.ts';
import { openRowPublisher } from './stream-messages.ts';

const logger = pino({ enabled: false });
const tinyStreamBytes = 256 * 1024;
const orgId = randomUUID();
const waitUntil = (expectation: () => void | Promise<void>) =>
  vi.waitFor(expectation, { timeout: 45_000, interval: 50 });

let environment: TestEnvironment;
let db: Database;
let provision: Bus;
let manager: JetStreamManager;
const openSchema = (schema: 'policy' | 'executor') =>
  openDatabase({
    url: environment.variables[`${schema.toUpperCase()}_DATABASE_URL`] ?? '',
    schema,
    connectionsMax: 4,
  });
beforeEach(async () => {
  environment = await createTestEnvironment({ streams: { eventsBytesMax: tinyStreamBytes } });
  db = openSchema('policy');
  const url = (environment.variables['GATEWAY_NATS_URL'] ?? '').replace('gateway:', 'provision:');
  provision = await connectBus({ url, name: 'provision' });
  manager = await jetstreamManager(provision.nats);
});
afterEach(async () => {
  await provision[Symbol.asyncDispose]();
  await db[Symbol.asyncDispose]();
  await environment[Symbol.asyncDispose]();
});

const appendEvents = async (count: number, type: EventType = 'rule.created', to = db) => {
  const ids: string[] = [];
  for (let at = 0; at < count; at += 1) {
    const event = await to.transaction((tx) =>
      appendEvent(tx, {
        type,
        orgId,
        audience: [],
        data: { text: 'x'.repeat(4_000) },
        audit: blankAuditEntry('Made a rule'),
      }),
    );
    ids.push(event.id);
  }
  return ids;
};
const startTestRelay = async (owner: 'policy' | 'executor' = 'policy', from = db) =>
  startRelay({
    db: from,
    bus: await environment.connect(owner),
    owner,
    logger,
    checkEveryMs: 100,
  });
/**
 * Reads with a durable consumer and handles each event once, as components do with their inbox
 * tables.
 */
const startReader = async (durable: DurableConsumerName, handled = new Map<string, Event>()) => {
  let deliveries = 0;
  const reader = consumeEvents({
    bus: await environment.connectReader(durable),
    durable,
    logger,
    async handle(events) {
      deliveries += events.length;
      for (const event of events) handled.set(event.id, event);
    },
  });
  return {
    handled,
    ids: () => [...handled.keys()].toSorted(),
    deliveries: () => deliveries,
    [Symbol.asyncDispose]: () => reader[Symbol.asyncDispose](),
  };
};
const countUnpublished = async () => {
  const [row] = await db<{ n: number }[]>`
    select count(*)::integer as n from outbox where published_at is null
  `;
  return row?.n ?? 0;
};

describe('the relay of an outbox', { timeout: 120_000 }, () => {
  test('publishes the record of an event to AUDIT and the event to EVENTS, and records of calls only to AUDIT', async () => {
    const [id = ''] = await appendEvents(1);
    await using executorDatabase = openSchema('executor');
    const [call = ''] = await appendEvents(1, 'action.outcome', executorDatabase);
    await using _relay = await startTestRelay();
    await using _callRelay = await startTestRelay('executor', executorDatabase);
    await using audit = await startReader('audit');
    await using notifier = await startReader('notifier');

    await waitUntil(() => expect(audit.ids()).toEqual([id, call].toSorted()));
    await waitUntil(async () => expect(await countUnpublished()).toBe(0));
    await waitUntil(() => expect(notifier.ids()).toEqual([id]));
    expect(audit.handled.get(id)).toMatchObject({
      data: {},
      audit: { description: 'Made a rule' },
    });
    expect(notifier.handled.get(id)).toMatchObject({
      data: { text: 'x'.repeat(4_000) },
      audit: null,
    });
  });

  test('publishes every record while EVENTS is full, and the events once EVENTS has been read', async () => {
    await using runningRelay = await startTestRelay();
    await using audit = await startReader('audit');
    const ids = await appendEvents(120);

    await waitUntil(() => expect(audit.ids()).toEqual(ids.toSorted()));
    expect(await countUnpublished()).toBeGreaterThan(0);
    await waitUntil(() => expect(runningRelay.backlog().waiting).toBeGreaterThan(0));
    const { state } = await manager.streams.info('EVENTS');
    expect(state.bytes).toBeGreaterThan(tinyStreamBytes * 0.9);

    await using notifier = await startReader('notifier');
    await waitUntil(() => expect(notifier.ids()).toEqual(ids.toSorted()));
    await waitUntil(() =>
      expect(runningRelay.backlog()).toEqual({ waiting: 0, oldest_seconds: 0 }),
    );
    // While the events waited for EVENTS, no record was published a second time.
    expect(audit.deliveries()).toBe(ids.length);
  });

  test('stops reporting AUDIT as full once another replica has published the refused rows', async () => {
    await manager.streams.update('AUDIT', { max_bytes: 1_000 });
    await using runningRelay = await startTestRelay();
    await appendEvents(5);
    await waitUntil(() => expect(runningRelay.isAuditBlocked()).toBe(true));
    await db`update outbox set recorded_at = now(), published_at = now()`;
    await waitUntil(() => expect(runningRelay.isAuditBlocked()).toBe(false));
  });

  test('counts AUDIT as full, also when NATS does not answer, until AUDIT takes a record', async () => {
    await manager.streams.update('AUDIT', { max_bytes: 1_000 });
    const publish = openRowPublisher(await environment.connect('policy'), 'policy');
    let isSilent = false;
    const batches = createRelayBatches({
      db,
      logger,
      publish: async (stream, rows) =>
        isSilent
          ? { storedRows: [], hasTaken: false, failure: new errors.TimeoutError() }
          : publish(stream, rows),
    });
    await appendEvents(2);
    await batches.recordBatch();
    expect(batches.isAuditBlocked()).toBe(true);
    isSilent = true;
    await batches.recordBatch();
    expect(batches.isAuditBlocked()).toBe(true);

    // Publishing an event without a record sends nothing to AUDIT.
    isSilent = false;
    const rows = await db`update outbox set body = jsonb_set(body::jsonb, '{audit}', 'null')::text
                           where id = (select min(id::text)::uuid from outbox) returning id`;
    expect(rows).toHaveLength(1);
    await batches.recordBatch();
    expect(batches.isAuditBlocked()).toBe(true);

    await provisionStreams(provision, smallStreams);
    await batches.recordBatch();
    expect(batches.isAuditBlocked()).toBe(false);
  });

  test('logs that Postgres is unreachable once a minute, without a stack', async () => {
    const lines: unknown[] = [];
    const closedDatabase = openSchema('policy');
    await using _relay = startRelay({
      db: closedDatabase,
      bus: await environment.connect('policy'),
      owner: 'policy',
      logger: pino({ level: 'warn' }, { write: (line) => void lines.push(JSON.parse(line)) }),
    });
    await closedDatabase[Symbol.asyncDispose]();
    await waitUntil(() => expect(lines).not.toEqual([]));
    // The relay tries again each second.
    await new Promise((resolve) => setTimeout(resolve, 2_500));
    expect(lines).toEqual([expect.not.objectContaining({ err: expect.anything() as unknown })]);
    expect(lines).toMatchObject([{ msg: 'events could not be relayed yet' }]);
  });

  test.for([['deleted'], ['deleted while a reader was absent']])(
    'publishes everything again to streams that were %s',
    async ([how]) => {
      await using _relay = await startTestRelay();
      const records = new Map<string, Event>();
      const events = new Map<string, Event>();
      let ids: string[] = [];
      {
        await using _audit = await startReader('audit', records);
        await using _notifier = await startReader('notifier', events);
        ids = await appendEvents(10);
        await waitUntil(() => expect([records.size, events.size]).toEqual([10, 10]));
        await waitUntil(async () => expect(await countUnpublished()).toBe(0));
      }
      if (how !== 'deleted') {
        ids.push(...(await appendEvents(5)));
        await waitUntil(async () => expect(await countUnpublished()).toBe(0));
      }
      await manager.streams.delete('AUDIT');
      await manager.streams.delete('EVENTS');
      ids.push(...(await appendEvents(5)));
      await provisionStreams(provision, smallStreams);

      await using audit = await startReader('audit', records);
      await using notifier = await startReader('notifier', events);
      await waitUntil(() => {
        expect(audit.ids()).toEqual(ids.toSorted());
        expect(notifier.ids()).toEqual(ids.toSorted());
      });
      // The rest of the test shows that all events come again, not only those that were unread.
      await waitUntil(() => {
        expect(audit.deliveries()).toBeGreaterThanOrEqual(ids.length);
        expect(notifier.deliveries()).toBeGreaterThanOrEqual(ids.length);
      });
      const listRepetitions = () => db`select from relayed_stream where repeat_until is not null`;
      await waitUntil(async () => expect(await listRepetitions()).toHaveLength(0));
    },
  );

  test('deletes rows seven days after they were published, however many there are, and no other row', async () => {
    await appendEvents(1);
    await db`
      insert into outbox (id, org_id, type, body, recorded_at, published_at, created_at)
      select gen_random_uuid(), ${orgId}, 'rule.created', '{}', at, at, at
        from (select now() - interval '8 days' as at from generate_series(1, 12000)) as old
    `;
    await db`
      insert into outbox (id, org_id, type, body, recorded_at, published_at, created_at)
      select gen_random_uuid(), ${orgId}, 'rule.created', '{}', now(), now() - interval '6 days',
             now() - interval '20 days'
        from generate_series(1, 5)
    `;
    await using _relay = startRelay({
      db,
      bus: await environment.connect('policy'),
      owner: 'policy',
      logger,
      pruneEveryMs: 50,
    });
    await waitUntil(async () => expect(await db`select from outbox`).toHaveLength(6));
  });
});
