import { randomUUID } from 'node:crypto';

import pino from 'pino';
import { afterAll, beforeAll, expect, test } from 'vitest';

import { blankAuditEntry } from '#contracts/audit';
import type { Event } from '#contracts/events';
import { openDatabase } from '#database';
import { inSpan } from '#telemetry';
import { attributesOf, collectSpans } from '../../test/support/collector.ts';
import { createTestEnvironment } from '../../test/support/environment.ts';
import type { TestEnvironment } from '../../test/support/environment.ts';
import { consumeEvents } from './consume.ts';
import { appendEvent, createEvent } from './outbox.ts';
import type { OutboxRow } from './outbox.sql.ts';
import { openPublisher } from './publish.ts';
import { startRelay } from './relay.ts';
import { openRowPublisher } from './stream-messages.ts';

let environment: TestEnvironment;
beforeAll(async () => {
  environment = await createTestEnvironment();
});
afterAll(() => environment[Symbol.asyncDispose]());

test('an event that is too large for the stream fails its transaction, and does not stop the relay of later events', async () => {
  const logger = pino({ enabled: false });
  await using db = openDatabase({
    url: environment.variables['POLICY_DATABASE_URL'] ?? '',
    schema: 'policy',
    connectionsMax: 3,
  });
  const append = (characters: number) =>
    db.transaction((tx) =>
      appendEvent(tx, {
        type: 'rule.created',
        orgId: randomUUID(),
        audience: [],
        data: { text: 'é'.repeat(characters) },
        audit: blankAuditEntry('Made a rule'),
      }),
    );
  await expect(append(2_100_000)).rejects.toMatchObject({ code: 'too_large' });
  const large = await append(2_090_000);
  const small = await append(1);

  const seen: Event[] = [];
  await using _reader = consumeEvents({
    bus: await environment.connectReader('audit'),
    durable: 'audit',
    recordsRefusals: false,
    logger,
    handle: async (events) => void seen.push(...events),
  });
  await using _relay = startRelay({
    db,
    bus: await environment.connect('policy'),
    owner: 'policy',
    logger,
  });
  await expect.poll(() => seen.map(({ id }) => id)).toEqual([large.id, small.id]);
  await expect.poll(() => db`select 1 from outbox where published_at is null`).toHaveLength(0);
});

test('records that only the audit log reads share messages: all records arrive in order, and none is lost when a relay repeats some of them together with others', async () => {
  const logger = pino({ enabled: false });
  await using db = openDatabase({
    url: environment.variables['EXECUTOR_DATABASE_URL'] ?? '',
    schema: 'executor',
    connectionsMax: 3,
  });
  const append = async (count: number) =>
    db.transaction(async (tx) => {
      const ids: string[] = [];
      for (let at = 0; at < count; at += 1) {
        const { id } = await appendEvent(tx, {
          // A few events in between are read by others too, so each has a message of its own.
          type: at % 10 === 5 ? 'credential.refused' : 'action.outcome',
          orgId: randomUUID(),
          audience: [],
          data: {},
          audit: blankAuditEntry('Called'),
        });
        ids.push(id);
      }
      return ids;
    });
  const seen: Event[] = [];
  await using _reader = consumeEvents({
    bus: await environment.connectReader('audit'),
    durable: 'audit',
    logger,
    handle: async (events) => void seen.push(...events),
  });
  const bus = await environment.connect('executor');
  const publishRows = openRowPublisher(bus, 'executor');
  const rowsOf = async (ids: readonly string[]) =>
    db<OutboxRow[]>`select id, type, body from outbox where id = any(${ids}) order by id`;

  const ids = await append(100);
  const rows = await rowsOf(ids);
  for (const part of [rows.slice(0, 50), rows.slice(0, 50), rows.slice(49)]) {
    const { storedRows, failure } = await publishRows('AUDIT', part);
    expect(failure).toBeUndefined();
    expect(storedRows).toEqual(part);
  }
  await expect.poll(() => seen.length).toBe(101);
  expect([...new Set(seen.map(({ id }) => id))]).toEqual(ids);
});

test('the reader of an event continues its trace, by the outbox as well as directly', async () => {
  const logger = pino({ enabled: false });
  await using db = openDatabase({
    url: environment.variables['POLICY_DATABASE_URL'] ?? '',
    schema: 'policy',
    connectionsMax: 3,
  });
  const orgId = randomUUID();
  const audit = blankAuditEntry('Did something');
  const newEvent = { orgId, audience: [], data: {}, audit };
  const publisher = openPublisher(await environment.connect('executor'), 'executor', logger);

  const spans = await collectSpans(async () => {
    await inSpan('change', {}, () =>
      db.transaction((tx) => appendEvent(tx, { ...newEvent, type: 'rule.created' })),
    );
    await inSpan('call', {}, () =>
      publisher.publish(createEvent({ ...newEvent, type: 'action.outcome' })),
    );
    const seen: Event[] = [];
    await using _reader = consumeEvents({
      bus: await environment.connectReader('audit'),
      durable: 'audit',
      logger,
      async handle(events) {
        await db.transaction((tx) => tx`select 1`);
        seen.push(...events.filter((event) => event.org_id === orgId));
      },
    });
    await using _relay = startRelay({
      db,
      bus: await environment.connect('policy'),
      owner: 'policy',
      logger,
    });
    await expect.poll(() => seen.length).toBe(2);
  });

  const find = (name: string, traceId?: string) =>
    spans.find((span) => span.name === name && (traceId ?? span.traceId) === span.traceId);
  for (const source of ['change', 'call']) {
    const handled = find('process AUDIT', find(source)?.traceId);
    expect(handled).toMatchObject({ kind: 5 });
    expect(attributesOf(handled!)).toEqual({
      'messaging.system': 'nats',
      'messaging.operation.type': 'process',
      'messaging.operation.name': 'process',
      'messaging.destination.name': 'AUDIT',
      'messaging.consumer.group.name': 'audit',
      'messaging.message.id': expect.any(String),
    });
  }
  const sent = find('send AUDIT');
  expect(sent).toMatchObject({ kind: 4, traceId: find('call')?.traceId });
  expect(find('process AUDIT', sent?.traceId)?.parentSpanId).toBe(sent?.spanId);
  // Events that are handled together are handled in the trace of the first event. The spans of the
  // other events link to it.
  const handledSpans = spans.filter(({ name }) => name === 'process AUDIT');
  const transactions = spans.filter(({ name }) => name === 'policy transaction');
  const places = new Set(transactions.map(({ parentSpanId }) => parentSpanId));
  for (const { spanId, links } of handledSpans) {
    expect(places.has(spanId) || places.has(links?.[0]?.spanId)).toBe(true);
  }
});

test('the log says once that an event has waited to be published for a minute, and once that none waits any more', async () => {
  const lines: { level: string; msg: string; oldestSeconds?: number }[] = [];
  const logger = pino(
    { formatters: { level: (level) => ({ level }) } },
    { write: (line: string) => void lines.push(JSON.parse(line)) },
  );
  await using db = openDatabase({
    url: environment.variables['POLICY_DATABASE_URL'] ?? '',
    schema: 'policy',
    connectionsMax: 3,
  });
  const rowIsHeld = Promise.withResolvers<void>();
  const release = Promise.withResolvers<void>();
  // A relay skips a row that another transaction has locked.
  const holding = db.transaction(async (tx) => {
    const { id } = await db.transaction((other) =>
      appendEvent(other, {
        type: 'rule.created',
        orgId: randomUUID(),
        audience: [],
        data: {},
        audit: blankAuditEntry('Made a rule'),
      }),
    );
    await db`update outbox set created_at = now() - interval '2 minutes' where id = ${id}`;
    await tx`select 1 from outbox where id = ${id} for update`;
    rowIsHeld.resolve();
    await release.promise;
  });
  await rowIsHeld.promise;
  await using _relay = startRelay({
    db,
    bus: await environment.connect('policy'),
    owner: 'policy',
    logger,
    checkEveryMs: 50,
  });
  const sayings = () => lines.filter(({ msg }) => msg.startsWith('events '));

  await expect.poll(sayings).toMatchObject([
    {
      level: 'warn',
      msg: 'events wait to be published',
      waiting: 1,
      oldestSeconds: expect.toSatisfy((seconds) => seconds >= 120),
    },
  ]);

  release.resolve();
  await holding;
  await expect
    .poll(sayings)
    .toMatchObject([
      { level: 'warn' },
      { level: 'info', msg: 'events are published in time again', waiting: 0, oldestSeconds: 0 },
    ]);
});

test('an event whose audit entry a later release stored is recorded without the members that this release does not know', async () => {
  await using db = openDatabase({
    url: environment.variables['POLICY_DATABASE_URL'] ?? '',
    schema: 'policy',
    connectionsMax: 1,
  });
  const audit = blankAuditEntry('Made a rule');
  const storedAudit = { ...audit, weight: 7, outcome: 'postponed' };
  const event = await db.transaction((tx) =>
    appendEvent(tx, {
      type: 'rule.created',
      orgId: randomUUID(),
      audience: [],
      data: {},
      audit: storedAudit as typeof audit,
    }),
  );
  expect(event.audit).toEqual({ ...audit, outcome: 'postponed' });
});
