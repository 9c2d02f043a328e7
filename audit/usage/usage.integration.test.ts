import { randomUUID } from 'node:crypto';
import { readFile } from 'node:fs/promises';

import { afterAll, beforeAll, describe, expect, test } from 'vitest';

import type { AuditEntry } from '#contracts/audit';
import type { Event, EventType } from '#contracts/events';
import type { UsageQuery } from '#contracts/http/audit';
import { pollUntil } from '../../test/support/world.ts';
import { recordEvents } from '../records/record-events.ts';
import { createAuditWorld, eventOf, testDeadline } from '../world.testing.ts';
import type { AuditWorld } from '../world.testing.ts';
import { forgetUsage } from './forget-usage.ts';

let world: AuditWorld;
beforeAll(async () => {
  world = await createAuditWorld();
});
afterAll(() => world[Symbol.asyncDispose]());

interface TestCall extends Partial<AuditEntry> {
  readonly type?: EventType;
  readonly at?: string;
}

const [ann, bob, bot, crawler] = [randomUUID(), randomUUID(), randomUUID(), randomUUID()];
const agentOf = (id: string, name: string) => ({ id, kind: 'agent' as const, name, path: [name] });

/** The event of a call of Ann's agent; `entry` changes its fields. */
function callOf(orgId: string, { type, at, ...entry }: TestCall = {}): Event {
  const called = { user_id: ann, service: 'github', risk: 'read', outcome: 'called' } as const;
  const identity = agentOf(bot, 'bot');
  const event = eventOf(orgId, { ...called, identity, ...entry });
  return { ...event, type: type ?? event.type, created_at: at ?? event.created_at };
}

const record = (events: readonly Event[]) => recordEvents(world.recorder, events);

async function countBy(
  by: UsageQuery['by'],
  caller: Parameters<AuditWorld['principal']>[0],
): Promise<Record<string, number>> {
  const usage = await world.client.usage(
    { principal: world.principal(caller), query: { by } },
    testDeadline(),
  );
  return Object.fromEntries(usage.items.map(({ key, count }) => [String(key), count]));
}

describe('the count of calls', () => {
  test('includes answered calls, suspended calls, and what later became of these', async () => {
    const orgId = randomUUID();
    const admin = { orgId, role: 'admin' } as const;
    const executionId = randomUUID();
    await record([
      callOf(orgId),
      callOf(orgId, { type: 'action.intent', outcome: 'started' }),
      callOf(orgId, { outcome: 'failed', error: 'upstream_timeout' }),
      callOf(orgId, { type: 'action.denied', outcome: 'denied', service: 'slack' }),
      callOf(orgId, { type: 'approval.raised', outcome: 'pending_approval' }),
      callOf(orgId, { type: 'approval.bubbled', outcome: null }),
      callOf(orgId, { type: 'approval.resolved', outcome: null }),
      callOf(orgId, { type: 'action.intent', outcome: 'started', execution_id: executionId }),
      callOf(orgId, { execution_id: executionId }),
      callOf(orgId, { type: 'execution.finished', execution_id: executionId }),
      callOf(orgId, { type: 'approval.raised', outcome: 'pending_approval' }),
      callOf(orgId, { type: 'approval.resolved', outcome: 'denied', identity: null }),
      callOf(orgId, { type: 'action.refused', outcome: 'refused', count: 7 }),
      callOf(orgId, { type: 'action.refused', outcome: 'refused', risk: null, service: 'any' }),
      callOf(orgId, { type: 'action.unanswered', outcome: 'outcome_unknown' }),
      callOf(orgId, { type: 'request.refused', outcome: 'refused' }),
      callOf(orgId, { type: 'rule.created', outcome: null }),
    ]);

    expect(await countBy('outcome', admin)).toEqual({
      called: 2,
      denied: 2,
      failed: 1,
      pending_approval: 2,
      refused: 8,
    });
    expect(await countBy('agent', admin)).toEqual({ [bot]: 13 });
    expect(await countBy('service', admin)).toEqual({ github: 11, slack: 1, null: 1 });
  });

  test('is for the hour in which the calls happened, with the last name of the agent', async () => {
    const orgId = randomUUID();
    const hourMs = 3_600_000;
    const thisHour = Math.floor(Date.now() / hourMs) * hourMs;
    const hoursAgo = (hours: number) => new Date(thisHour - hours * hourMs).toISOString();
    await record([
      callOf(orgId, { at: hoursAgo(3), identity: agentOf(bot, 'old name') }),
      callOf(orgId, { at: hoursAgo(1) }),
      callOf(orgId, { at: new Date(thisHour - 1).toISOString() }),
      callOf(orgId, { at: hoursAgo(91 * 24) }),
    ]);

    const principal = world.principal({ orgId, role: 'auditor' });
    const query = { by: 'agent', bucket: 'hour', from: hoursAgo(5), to: hoursAgo(0) } as const;
    const usage = await world.client.usage({ principal, query }, testDeadline());

    expect(usage).toEqual({
      ...query,
      items: [
        { bucket: hoursAgo(3), key: bot, name: 'bot', count: 1 },
        { bucket: hoursAgo(1), key: bot, name: 'bot', count: 2 },
      ],
      left_out: { keys: 0, count: 0 },
    });
    await expect(
      world.client.usage(
        { principal, query: { from: hoursAgo(0), to: hoursAgo(1) } },
        testDeadline(),
      ),
    ).rejects.toMatchObject({ code: 'invalid_request', details: { field: 'from' } });
  });

  test('is the same by days as by hours, from and to any hour', async () => {
    const orgId = randomUUID();
    const dayMs = 86_400_000;
    const today = Math.floor(Date.now() / dayMs) * dayMs;
    const at = (days: number, hour: number) =>
      new Date(today - days * dayMs + hour * 3_600_000).toISOString();
    await record([
      callOf(orgId, { at: at(5, 1), service: 'left-out' }),
      callOf(orgId, { at: at(5, 12), identity: agentOf(bot, 'old name') }),
      callOf(orgId, { at: at(4, 0), identity: agentOf(bot, 'middle name') }),
      callOf(orgId, { at: at(4, 23), outcome: 'failed' }),
      callOf(orgId, { at: at(3, 5), user_id: bob, identity: agentOf(crawler, 'crawler') }),
      callOf(orgId, { at: at(3, 6), type: 'approval.resolved', outcome: 'denied' }),
      callOf(orgId, { at: at(2, 0), service: 'slack', identity: agentOf(bot, 'new name') }),
      callOf(orgId, { at: at(2, 3), service: 'left-out' }),
    ]);
    const read = async (by: UsageQuery['by'], role: 'admin' | 'member' = 'admin') => {
      const principal = world.principal({ orgId, role, userId: ann });
      const query = { by, from: at(5, 12), to: at(2, 3) };
      const { items, left_out } = await world.client.usage({ principal, query }, testDeadline());
      expect(left_out).toEqual({ keys: 0, count: 0 });
      return items.map(({ bucket, key, count, name }) => [
        bucket,
        key,
        count,
        ...(name ? [name] : []),
      ]);
    };

    expect(await read('outcome')).toEqual([
      [at(5, 0), 'called', 1],
      [at(4, 0), 'called', 1],
      [at(4, 0), 'failed', 1],
      [at(3, 0), 'called', 1],
      [at(3, 0), 'denied', 1],
      [at(2, 0), 'called', 1],
    ]);
    expect(await read('agent')).toEqual([
      [at(5, 0), bot, 1, 'new name'],
      [at(4, 0), bot, 2, 'new name'],
      [at(3, 0), crawler, 1, 'crawler'],
      [at(2, 0), bot, 1, 'new name'],
    ]);
    expect(await read('service', 'member')).toEqual([
      [at(5, 0), 'github', 1],
      [at(4, 0), 'github', 2],
      [at(2, 0), 'slack', 1],
    ]);
  });

  test('is also available by days for hours that were counted before days were', async () => {
    const orgId = randomUUID();
    await using earlier = await createAuditWorld();
    const sql = earlier.superuser;
    await recordEvents(earlier.recorder, [callOf(orgId), callOf(orgId, { outcome: 'failed' })]);
    const listDays = () =>
      sql`select kind, key, name, count from audit.usage_day order by kind, key`;
    const countedDays = await listDays();
    await sql`drop table audit.usage_day`;
    const migration = new URL('../migrations/0007_usage_days.sql', import.meta.url);
    await sql.unsafe(await readFile(migration, 'utf8'));
    expect(await listDays()).toEqual(countedDays);
  });

  test('lists the 50 agents with the most calls, and sums up the others', async () => {
    const orgId = randomUUID();
    const identity = agentOf(bot, 'bot');
    const agentsCalledOnce = Array.from({ length: 52 }, (_, index) =>
      callOf(orgId, { identity: agentOf(randomUUID(), `agent ${index}`) }),
    );
    await record([...agentsCalledOnce, callOf(orgId, { identity }), callOf(orgId, { identity })]);

    const principal = world.principal({ orgId, role: 'admin' });
    const usage = await world.client.usage({ principal, query: { by: 'agent' } }, testDeadline());

    expect(usage.items).toHaveLength(50);
    expect(usage.items[0]).toMatchObject({ key: bot, count: 2 });
    expect(usage.left_out).toEqual({ keys: 3, count: 3 });
  });
});

test('admins and auditors see the calls of their org, other users those of their own tree, and agents none', async () => {
  const [orgId, otherOrgId] = [randomUUID(), randomUUID()];
  await record([
    callOf(orgId),
    callOf(orgId, { user_id: bob, identity: agentOf(crawler, 'crawler') }),
    callOf(otherOrgId, { user_id: ann }),
  ]);

  const bothAgents = { [bot]: 1, [crawler]: 1 };
  expect(await countBy('agent', { orgId, role: 'admin' })).toEqual(bothAgents);
  expect(await countBy('agent', { orgId, role: 'auditor' })).toEqual(bothAgents);
  expect(await countBy('agent', { orgId, role: 'member', userId: ann })).toEqual({ [bot]: 1 });
  expect(await countBy('agent', { orgId, role: 'member', userId: randomUUID() })).toEqual({});
  expect(await countBy('outcome', { orgId: otherOrgId, role: 'admin' })).toEqual({ called: 1 });
  expect(await countBy('outcome', { orgId: randomUUID(), role: 'admin' })).toEqual({});
  await expect(countBy('outcome', { orgId, role: null, userId: ann })).rejects.toMatchObject({
    code: 'forbidden',
  });
});

describe('the count of a call', () => {
  test('is one, however often and to however many replicas its event is delivered', async () => {
    await world.startReplica();
    const orgId = randomUUID();
    const events = Array.from({ length: 20 }, () => callOf(orgId));
    const last = callOf(orgId);

    await Promise.all([world.publish(events), world.publish(events), world.publish(events)]);
    await world.publish([events[0] as Event, last]);

    await pollUntil(async () => (await world.countRecords(orgId)) === 21, 'all records');
    await record([...events, last]);
    expect(await countBy('outcome', { orgId, role: 'admin' })).toEqual({ called: 21 });
  });

  test('is one when batches of the same orgs, in different order, are recorded at the same time', async () => {
    const [orgId, otherOrgId] = [randomUUID(), randomUUID()];
    const batchOf = (index: number) => {
      const outcomes = ['called', 'failed', 'called'] as const;
      const events = outcomes.flatMap((outcome) => [
        callOf(orgId, { outcome }),
        callOf(otherOrgId, { outcome }),
      ]);
      return index % 2 === 0 ? events : events.toReversed();
    };
    await Promise.all(Array.from({ length: 20 }, (_, index) => record(batchOf(index))));

    for (const id of [orgId, otherOrgId]) {
      const counts = await countBy('outcome', { orgId: id, role: 'admin' });
      expect(counts).toEqual({ called: 40, failed: 20 });
    }
  });
});

test('counts are deleted after 91 days, but never counts that can still be requested', async () => {
  const orgId = randomUUID();
  await record([callOf(orgId)]);
  await world.superuser`
    insert into audit.usage (org_id, hour, user_id, identity_id, service, outcome, follows_approval,
                             identity_name, count)
    select ${orgId}, date_trunc('hour', now() - make_interval(days => day)), ${ann}, ${bot}, 'github', 'called', false,
           'bot', 1
      from generate_series(88, 94) as days (day)
  `;

  await world.superuser`
    insert into audit.usage_day (org_id, day, user_id, kind, key, name, count)
    select ${orgId}, date_trunc('day', now() - make_interval(days => day), 'UTC'), ${ann}, 'outcome', 'called', '', 1
      from generate_series(90, 95) as days (day)
  `;

  await forgetUsage({ db: world.db });

  const rows = await world.superuser<{ days: number }[]>`
    select extract(day from now() - hour)::integer as days
      from audit.usage
     where org_id = ${orgId}
     order by hour
  `;
  expect(rows.map(({ days }) => days)).toEqual([90, 89, 88, 0]);
  const [days] = await world.superuser`
    select count(*)::int as count, min(day) > now() - interval '92 days' as is_young
      from audit.usage_day
     where org_id = ${orgId}
       and kind = 'outcome'
  `;
  expect(days).toEqual({ count: 3, is_young: true });
  await expect(
    world.db`update audit.usage_day set count = 0 where org_id = ${orgId}`,
  ).rejects.toThrow('permission denied');
  await expect(world.db`update audit.usage set count = 0 where org_id = ${orgId}`).rejects.toThrow(
    'permission denied',
  );
  await expect(world.db`delete from audit.usage where org_id = ${orgId}`).rejects.toThrow(
    'permission denied',
  );
});
