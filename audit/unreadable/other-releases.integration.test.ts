import { createHash, randomUUID } from 'node:crypto';

import { jetstream, jetstreamManager } from '@nats-io/jetstream';
import type { JetStreamClient } from '@nats-io/jetstream';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';

import { storeApi } from '#bus';
import type { Bus } from '#bus';
import type { AuditRecord } from '#contracts/audit';
import { createAuditWorld, eventOf, firstPage, testDeadline } from '../world.testing.ts';
import type { AuditWorld } from '../world.testing.ts';
import { keepUnreadable } from './keep-unreadable.ts';

let world: AuditWorld;
let executor: JetStreamClient;
let reader: Bus;
beforeAll(async () => {
  world = await createAuditWorld();
  reader = await world.environment.connectReader('audit');
  executor = jetstream((await world.environment.connect('executor')).nats);
});
afterAll(() => world[Symbol.asyncDispose]());

const batchSubject = 'aud.executor.batch';
const outcomeSubject = 'aud.executor.action.outcome';
/** JSON that can be parsed and is nested too deeply to be written again. */
const deepJson = `${'['.repeat(100_000)}${']'.repeat(100_000)}`;

async function readRows(orgId: string, count: number): Promise<AuditRecord[]> {
  await expect.poll(() => world.countRecords(orgId)).toBe(count);
  const principal = world.principal({ orgId, role: 'auditor' });
  const { items } = await world.client.list(
    { principal, page: firstPage, filter: {} },
    testDeadline(),
  );
  expect(await world.client.verify({ principal }, testDeadline())).toMatchObject({
    valid: true,
    rows_checked: count,
  });
  return items;
}

async function listKeptRows(
  subject: string,
): Promise<{ body: Uint8Array; org_id: string | null }[]> {
  return world.db`
    select body, org_id
      from audit.unreadable
     where subject = ${subject}
     order by received_at
  `;
}

async function countWaitingMessages(): Promise<number> {
  const manager = await jetstreamManager(reader.nats, { checkAPI: false, apiPrefix: storeApi });
  const { num_ack_pending, num_pending } = await manager.consumers.info('AUDIT', 'audit');
  return num_ack_pending + num_pending;
}

describe('a record of a later release', () => {
  test.for([
    ['of the event', { priority: 'high' }, {}, '{"priority":"high"}'],
    ['of its entry', {}, { weight: 7 }, '{"audit.weight":7}'],
    [
      'with text that Postgres cannot store',
      {},
      { 'a\0b': ['\0', '\ud83c'] },
      String.raw`{"audit.a\u0000b":["\u0000","\ud83c"]}`,
    ],
  ] as const)('is recorded with an additional member %s', async ([, added, addedEntry, unread]) => {
    const orgId = randomUUID();
    const event = eventOf(orgId);
    const audit = { ...event.audit, ...addedEntry };
    await executor.publish(outcomeSubject, JSON.stringify({ ...event, ...added, audit }));
    expect(await readRows(orgId, 1)).toMatchObject([{ id: event.id, unread }]);
  });

  test('is recorded with values that this release does not know', async () => {
    const orgId = randomUUID();
    const event = eventOf(orgId);
    const audit = { ...event.audit, outcome: 'postponed', risk: 'launch' };
    await executor.publish(outcomeSubject, JSON.stringify({ ...event, audit }));
    expect(await readRows(orgId, 1)).toMatchObject([{ outcome: 'postponed', risk: 'launch' }]);
  });

  test.for([['aud.executor.action.postponed'], [batchSubject]])(
    'is recorded under %s with its type, even if this release does not know the type',
    async ([subject = '']) => {
      const orgId = randomUUID();
      const event = { ...eventOf(orgId), type: 'action.postponed' };
      await executor.publish(subject, JSON.stringify(event));
      expect(await readRows(orgId, 1)).toMatchObject([{ id: event.id, type: event.type }]);
    },
  );

  test('is refused when its subject and its unknown type do not match', async () => {
    const orgId = randomUUID();
    const event = { ...eventOf(orgId), type: 'action.postponed' };
    await executor.publish('aud.executor.action.moved', JSON.stringify(event));
    expect(await readRows(orgId, 1)).toMatchObject([{ type: 'event.refused' }]);
  });

  test('prevents no other record of its message from being recorded when it cannot be read', async () => {
    const orgId = randomUUID();
    const events: object[] = Array.from({ length: 64 }, () => eventOf(orgId));
    events[10] = { ...events[10], priority: 'high' };
    events[20] = { ...events[20], created_at: 'at noon' };
    events[30] = { ...events[30], type: 'action.postponed' };
    await executor.publish(batchSubject, JSON.stringify(events));

    const rows = await readRows(orgId, 64);
    const body = JSON.stringify(events[20]);
    const digest = createHash('sha256').update(body).digest('hex');
    const types = Map.groupBy(rows, ({ type }) => type);
    const counts = [...types].map(([type, { length }]) => [type, length]);
    expect(Object.fromEntries(counts)).toEqual({
      'action.outcome': 62,
      'action.postponed': 1,
      unreadable: 1,
    });
    expect(types.get('unreadable')?.[0]?.description).toContain(`SHA-256 ${digest}`);
    const keptRows = await listKeptRows(batchSubject);
    expect(Buffer.from(keptRows[0]?.body ?? []).toString()).toBe(body);
  });
});

describe('a message that is not a record', () => {
  test.for([
    ['bytes that are no text', 'aud.executor.one', Uint8Array.of(0, 255, 0, 200)],
    ['nothing at all', 'aud.executor.two', new Uint8Array()],
    ['an array of nothing', 'aud.executor.three', Buffer.from('[]')],
    ['a number', 'aud.executor.four', Buffer.from('1')],
    ['an org that is no id', 'aud.executor.five', Buffer.from('{"org_id":"acme"}')],
    ['arrays in arrays', 'aud.executor.six', Buffer.from('['.repeat(50_000) + ']'.repeat(50_000))],
  ] as const)('is stored once with its original bytes: %s', async ([, subject, body]) => {
    await executor.publish(subject, body);
    await executor.publish(subject, body);
    const orgId = randomUUID();
    await executor.publish(outcomeSubject, JSON.stringify(eventOf(orgId)));
    await readRows(orgId, 1);
    const keptRows = await listKeptRows(subject);
    expect(keptRows.map((row) => [Buffer.from(row.body), row.org_id])).toEqual([
      [Buffer.from(body), null],
    ]);
  });
});

test('a record that is nested too deeply to be read does not prevent other records of its message from being recorded', async () => {
  const orgId = randomUUID();
  const events = [eventOf(orgId), eventOf(orgId), eventOf(orgId)].map((event) =>
    JSON.stringify(event),
  );
  const deepJson = `"priority":${'['.repeat(20_000)}${']'.repeat(20_000)}`;
  events[1] = events[1]?.replace('"type"', `${deepJson},"type"`) ?? '';
  const body = `[${events.join(',')}]`;
  await executor.publish(batchSubject, body);

  const types = (await readRows(orgId, 3)).map(({ type }) => type);
  expect(types.toSorted()).toEqual(['action.outcome', 'action.outcome', 'unreadable']);
  const keptRows = await listKeptRows(batchSubject);
  expect(keptRows.map((row) => Buffer.from(row.body).toString())).toContain(body);
});

describe('a record that no release can store', () => {
  const retentionPassed = { created_at: '0000-01-01T00:00:00Z' };
  test.for([
    ['a number that is too large', {}, { http_status: 2 ** 40 }],
    ['a time before all times', retentionPassed, {}],
    [
      'a name that Postgres cannot store',
      {},
      { request: { headers: { 'a\0b': 'c' }, content_type: null, credentials: [] } },
    ],
    [
      'a number that is too large, nested too deeply',
      { data: { later: '(deep)' } },
      { http_status: 2 ** 40 },
    ],
  ] as const)(
    'is stored with its original bytes, and does not delay other records: %s',
    async ([, added, entry]) => {
      const orgId = randomUUID();
      const event = eventOf(orgId);
      const unstorableEvent = { ...event, ...added, audit: { ...event.audit, ...entry } };
      const readableEvent = eventOf(orgId);
      const body = JSON.stringify([unstorableEvent, readableEvent]).replace('"(deep)"', deepJson);
      await executor.publish(batchSubject, body);
      await executor.publish(outcomeSubject, JSON.stringify(eventOf(orgId)));

      await expect.poll(() => world.countRecords(orgId), { timeout: 15_000 }).toBeGreaterThan(0);
      await expect.poll(countWaitingMessages, { timeout: 15_000 }).toBe(0);
      const keptRows = (await listKeptRows(batchSubject)).map((row) =>
        Buffer.from(row.body).toString(),
      );
      expect(keptRows.some((text) => text.includes(event.id))).toBe(true);
      expect(keptRows.some((text) => text.includes(readableEvent.id))).toBe(
        body.includes(deepJson),
      );
    },
  );

  test.for([
    ['cannot be read', { created_at: 'at noon' }],
    ['is of another type', { type: 'approval.raised' }],
  ] as const)('leaves a readable row when it %s and its subject is long', async ([, of]) => {
    const orgId = randomUUID();
    const subject = `aud.executor.${'x'.repeat(3_000)}`;
    await executor.publish(subject, JSON.stringify({ ...eventOf(orgId), ...of }));
    const [row] = await readRows(orgId, 1);
    expect(row?.description).toContain('aud.executor.xxx');
  });
});

test('a release that can read stored records of an earlier release adds them to the chain when it starts', async () => {
  const orgId = randomUUID();
  const event = eventOf(orgId, { description: 'Read at last.' });
  const unreadable = {
    id: randomUUID(),
    orgId,
    subject: outcomeSubject,
    body: Buffer.from(JSON.stringify(event)),
  };
  await keepUnreadable(world.recorder, [unreadable]);
  await keepUnreadable(world.recorder, [unreadable]);
  const before = await readRows(orgId, 1);
  expect(before).toMatchObject([{ type: 'unreadable', id: unreadable.id }]);

  for (let replica = 0; replica < 2; replica += 1) await world.startReplica();
  const after = await readRows(orgId, 2);
  expect(after).toMatchObject([
    { id: event.id, description: 'Read at last.', type: 'action.outcome' },
    before[0],
  ]);
});

test('a stored record that can be read but not recorded does not delay other stored records', async () => {
  const orgId = randomUUID();
  const keepEvent = (event: object) =>
    keepUnreadable(world.recorder, [
      {
        id: randomUUID(),
        orgId,
        subject: outcomeSubject,
        body: Buffer.from(JSON.stringify(event)),
      },
    ]);
  await keepEvent(eventOf(orgId, { http_status: 2 ** 40 }));
  await keepEvent(eventOf(orgId, { description: 'Read at last.' }));

  await world.startReplica();
  expect(await readRows(orgId, 3)).toMatchObject([{ description: 'Read at last.' }, {}, {}]);
});

test('a message that this release cannot read is stored once with its original bytes, however often it is delivered', async () => {
  const orgId = randomUUID();
  const { audit, ...event } = eventOf(orgId);
  const body = JSON.stringify({ ...event, later: 1, audit: { ...audit, count: 2 ** 40 } }, null, 2);
  for (let delivery = 0; delivery < 2; delivery += 1) await executor.publish(outcomeSubject, body);

  await expect.poll(countWaitingMessages).toBe(0);
  expect(await readRows(orgId, 1)).toMatchObject([{ type: 'unreadable' }]);
  const keptRows = await listKeptRows(outcomeSubject);
  const rowsOfOrg = keptRows.filter((row) => row.org_id === orgId);
  expect(rowsOfOrg.map((row) => Buffer.from(row.body).toString())).toEqual([body]);
});

test('a record whose insert fails temporarily is recorded later, and never stored as unreadable', async () => {
  const orgId = randomUUID();
  /** A full disk, a server that stops, a cancelled statement, a lost connection and conflicts. */
  const sqlStateCodes = ['53100', '57P01', '57014', '08006', '40001', '40P01', '23505'];
  await world.superuser.unsafe(`
    create sequence audit.attempt;
    create function audit.refuse() returns trigger security definer language plpgsql as $$
      begin
        if new.org_id <> '${orgId}' then return new; end if;
        perform nextval('audit.attempt');
        raise exception 'not now' using errcode = new.description;
      end $$;
    create trigger refuse before insert on audit.record
      for each row execute function audit.refuse()`);
  try {
    for (const description of sqlStateCodes) {
      await executor.publish(outcomeSubject, JSON.stringify(eventOf(orgId, { description })));
    }
    // Each cause occurs at least twice, and another cause may come before it.
    await expect
      .poll(async () => {
        const [row] = await world.superuser<{ n: number }[]>`
          select last_value::integer as n from audit.attempt
        `;
        return row?.n;
      })
      .toBeGreaterThan(3 * sqlStateCodes.length);
  } finally {
    await world.superuser.unsafe(`
      drop trigger refuse on audit.record;
      drop function audit.refuse();
      drop sequence audit.attempt`);
  }
  const rows = await readRows(orgId, sqlStateCodes.length);
  expect(rows.map(({ type }) => type)).toEqual(sqlStateCodes.map(() => 'action.outcome'));
});
