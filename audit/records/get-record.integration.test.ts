import { randomUUID } from 'node:crypto';

import { afterAll, beforeAll, describe, expect, test } from 'vitest';

import { recordEvents } from './record-events.ts';
import { createAuditWorld, eventOf, firstPage, testDeadline } from '../world.testing.ts';
import type { AuditWorld } from '../world.testing.ts';

let world: AuditWorld;
beforeAll(async () => {
  world = await createAuditWorld();
});
afterAll(() => world[Symbol.asyncDispose]());

const record = (events: Parameters<typeof recordEvents>[1]) => recordEvents(world.recorder, events);

/** Creates an org with one call by each of two users, and one record that belongs to no call. */
async function createOrgWithCalls() {
  const orgId = randomUUID();
  const [ann, bob, callId, other] = [randomUUID(), randomUUID(), randomUUID(), randomUUID()];
  const of = { user_id: ann, call_id: callId, request_digest: 'd'.repeat(64) };
  const intent = {
    ...eventOf(orgId, { ...of, outcome: 'started' }),
    type: 'action.intent' as const,
  };
  const outcome = eventOf(orgId, { ...of, outcome: 'called' });
  const othersEvent = eventOf(orgId, { user_id: bob, call_id: other, outcome: 'outcome_unknown' });
  const change = { ...eventOf(orgId, { user_id: ann }), type: 'org.changed' as const };
  await record([intent, othersEvent, change]);
  await record([outcome]);
  return { orgId, ann, callId, other, intent, outcome, theirs: othersEvent, change };
}

describe('looking up a call', () => {
  test('returns every record of a call, by the call id or by the id of any of its records', async () => {
    const { orgId, callId, intent, outcome } = await createOrgWithCalls();
    const principal = world.principal({ orgId, role: 'auditor' });
    for (const id of [callId, callId.toUpperCase(), intent.id, outcome.id]) {
      const record = await world.client.get({ principal, id }, testDeadline());
      expect(record).toMatchObject({ call_id: callId, state: 'called' });
      expect(record.rows.map((row) => row.id)).toEqual([intent.id, outcome.id]);
      expect(record.rows[0]).toMatchObject({ call_id: callId, request_digest: 'd'.repeat(64) });
    }
  });

  test('returns a record that belongs to no call, by the id of the record', async () => {
    const { orgId, change } = await createOrgWithCalls();
    const principal = world.principal({ orgId, role: 'admin' });
    expect(await world.client.get({ principal, id: change.id }, testDeadline())).toMatchObject({
      call_id: null,
      state: null,
      rows: [{ id: change.id, type: 'org.changed' }],
    });
  });

  test('returns only records that the caller may list', async () => {
    const { orgId, ann, callId, other, theirs } = await createOrgWithCalls();
    const member = world.principal({ orgId, role: 'member', userId: ann });
    expect(await world.client.get({ principal: member, id: callId }, testDeadline())).toBeTruthy();
    const adminOfOtherOrg = world.principal({ orgId: randomUUID(), role: 'admin' });
    for (const [principal, id] of [
      [member, other],
      [member, theirs.id],
      [member, randomUUID()],
      [adminOfOtherOrg, callId],
    ] as const) {
      await expect(world.client.get({ principal, id }, testDeadline())).rejects.toMatchObject({
        code: 'not_found',
      });
    }
    const agent = world.principal({ orgId, role: null, userId: ann });
    await expect(
      world.client.get({ principal: agent, id: callId }, testDeadline()),
    ).rejects.toMatchObject({
      code: 'forbidden',
    });
  });
});

test('looking up a call works in a chain that an earlier version of the gateway began, and the chain stays valid', async () => {
  const orgId = '0198c0de-0000-7000-8000-0000000000ff';
  // A row as an earlier version stored it, with the hash that the earlier version computed.
  await world.superuser`
    insert into audit.record
           (id, org_id, seq, at, type, permission_keys, description, disclosed, prev_hash, hash)
    values ('0198c0de-0000-7000-8000-000000000001', ${orgId}, 1, '2026-01-01T00:00:00Z',
            'action.outcome', '{}', 'something happened, 1', '[]', ${'0'.repeat(64)},
            'dcb31f7b79789ee61e1c900222f263521e64b3e02e52ebfccde1ed530a96ca50')
  `;
  // An event that the earlier version published and that is consumed only after the upgrade.
  const { call_id: _, request_digest: __, count: ___, ...older } = eventOf(orgId).audit ?? {};
  await world.publish([{ ...eventOf(orgId), audit: older as never }]);
  await expect.poll(() => world.countRecords(orgId)).toBe(2);
  await record([eventOf(orgId, { call_id: randomUUID(), count: 3, outcome: 'refused' })]);

  const principal = world.principal({ orgId, role: 'admin' });
  expect(await world.client.verify({ principal }, testDeadline())).toMatchObject({
    valid: true,
    rows_checked: 3,
  });
  const { items } = await world.client.list(
    { principal, page: firstPage, filter: { outcome: 'refused' } },
    testDeadline(),
  );
  expect(items).toMatchObject([{ seq: 3, count: 3, call_id: expect.any(String) }]);
});
