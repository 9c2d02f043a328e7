import { randomUUID } from 'node:crypto';

import { afterAll, beforeAll, describe, expect, test } from 'vitest';

import { recordEvents } from './usecases/record-events.ts';
import { createAuditWorld, eventOf, firstPage, soon } from './world.testing.ts';
import type { AuditWorld } from './world.testing.ts';

let world: AuditWorld;
beforeAll(async () => {
  world = await createAuditWorld();
});
afterAll(() => world[Symbol.asyncDispose]());

const record = (events: Parameters<typeof recordEvents>[1]) => recordEvents(world.recorder, events);

/** One call of each of two users, and a record of no call. */
async function orgWithCalls() {
  const orgId = randomUUID();
  const [ann, bob, callId, other] = [randomUUID(), randomUUID(), randomUUID(), randomUUID()];
  const of = { user_id: ann, call_id: callId, request_digest: 'd'.repeat(64) };
  const intent = {
    ...eventOf(orgId, { ...of, outcome: 'started' }),
    type: 'action.intent' as const,
  };
  const outcome = eventOf(orgId, { ...of, outcome: 'called' });
  const theirs = eventOf(orgId, { user_id: bob, call_id: other, outcome: 'outcome_unknown' });
  const change = { ...eventOf(orgId, { user_id: ann }), type: 'org.changed' as const };
  await record([intent, theirs, change]);
  await record([outcome]);
  return { orgId, ann, callId, other, intent, outcome, theirs, change };
}

describe('a look-up', () => {
  test('by the call id, or by any record of the call, gives every record of it', async () => {
    const { orgId, callId, intent, outcome } = await orgWithCalls();
    const principal = world.principal({ orgId, role: 'auditor' });
    for (const id of [callId, callId.toUpperCase(), intent.id, outcome.id]) {
      const found = await world.client.get({ principal, id }, soon());
      expect(found).toMatchObject({ call_id: callId, state: 'called' });
      expect(found.rows.map((row) => row.id)).toEqual([intent.id, outcome.id]);
      expect(found.rows[0]).toMatchObject({ call_id: callId, request_digest: 'd'.repeat(64) });
    }
  });

  test('of a record that is of no call gives that record', async () => {
    const { orgId, change } = await orgWithCalls();
    const principal = world.principal({ orgId, role: 'admin' });
    expect(await world.client.get({ principal, id: change.id }, soon())).toMatchObject({
      call_id: null,
      state: null,
      rows: [{ id: change.id, type: 'org.changed' }],
    });
  });

  test('shows nobody what a list would not show', async () => {
    const { orgId, ann, callId, other, theirs } = await orgWithCalls();
    const member = world.principal({ orgId, role: 'member', userId: ann });
    expect(await world.client.get({ principal: member, id: callId }, soon())).toBeTruthy();
    const elsewhere = world.principal({ orgId: randomUUID(), role: 'admin' });
    for (const [principal, id] of [
      [member, other],
      [member, theirs.id],
      [member, randomUUID()],
      [elsewhere, callId],
    ] as const) {
      await expect(world.client.get({ principal, id }, soon())).rejects.toMatchObject({
        code: 'not_found',
      });
    }
    const agent = world.principal({ orgId, role: null, userId: ann });
    await expect(world.client.get({ principal: agent, id: callId }, soon())).rejects.toMatchObject({
      code: 'forbidden',
    });
  });
});

test('a chain begun before records had these members goes on, and verifies', async () => {
  const orgId = '0198c0de-0000-7000-8000-0000000000ff';
  // As an earlier version wrote it, with the hash that it computed.
  await world.superuser`
    insert into audit.record
           (id, org_id, seq, at, type, permission_keys, description, disclosed, prev_hash, hash)
    values ('0198c0de-0000-7000-8000-000000000001', ${orgId}, 1, '2026-01-01T00:00:00Z',
            'action.outcome', '{}', 'something happened, 1', '[]', ${'0'.repeat(64)},
            'dcb31f7b79789ee61e1c900222f263521e64b3e02e52ebfccde1ed530a96ca50')
  `;
  // An event that was published by it, and is read only now.
  const { call_id: _, request_digest: __, count: ___, ...older } = eventOf(orgId).audit ?? {};
  await world.publish([{ ...eventOf(orgId), audit: older as never }]);
  await expect.poll(() => world.countRecords(orgId), { timeout: 15_000 }).toBe(2);
  await record([eventOf(orgId, { call_id: randomUUID(), count: 3, outcome: 'refused' })]);

  const principal = world.principal({ orgId, role: 'admin' });
  expect(await world.client.verify({ principal }, soon())).toMatchObject({
    valid: true,
    rows_checked: 3,
  });
  const { items } = await world.client.list(
    { principal, page: firstPage, filter: { outcome: 'refused' } },
    soon(),
  );
  expect(items).toMatchObject([{ seq: 3, count: 3, call_id: expect.any(String) }]);
});
