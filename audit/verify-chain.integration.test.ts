import { randomUUID } from 'node:crypto';

import { afterAll, beforeAll, describe, expect, test } from 'vitest';

import type { AuditVerification } from '#contracts/http/audit';
import { recordEvents } from './usecases/record-events.ts';
import { createAuditWorld, eventOf, soon } from './world.testing.ts';
import type { AuditWorld } from './world.testing.ts';

let world: AuditWorld;
beforeAll(async () => {
  world = await createAuditWorld();
});
afterAll(() => world[Symbol.asyncDispose]());

/** An org with a chain of that length. */
async function orgWith(length: number): Promise<string> {
  const orgId = randomUUID();
  for (let left = length; left > 0; left -= 200) {
    await recordEvents(
      world.recorder,
      Array.from({ length: Math.min(left, 200) }, (_, i) => eventOf(orgId, { http_status: i })),
    );
  }
  return orgId;
}

function verify(orgId: string): Promise<AuditVerification> {
  return world.client.verify({ principal: world.principal({ orgId, role: 'admin' }) }, soon());
}

describe('verifying', () => {
  test('an org without records finds nothing wrong', async () => {
    expect(await verify(randomUUID())).toEqual({
      valid: true,
      rows_checked: 0,
      first_bad_seq: null,
      head: null,
    });
  });

  test('reads a chain longer than one part, and says what its head is', async () => {
    const orgId = await orgWith(2_100);
    const [last] = await world.db<{ hash: string }[]>`
      select hash from audit.record where org_id = ${orgId} and seq = 2100
    `;
    expect(await verify(orgId)).toEqual({
      valid: true,
      rows_checked: 2_100,
      first_bad_seq: null,
      head: { seq: 2_100, hash: last?.hash },
    });
  });

  test.for<[field: string, value: unknown]>([
    ['type', 'action.intent'],
    ['at', new Date(0)],
    ['user_id', randomUUID()],
    ['identity', { id: randomUUID(), kind: 'user', name: 'x', path: ['x'] }],
    ['credential', { kind: 'session', id: randomUUID(), client_id: null }],
    ['service', 'other'],
    ['template', 'other'],
    ['action', 'other'],
    ['permission_keys', ['a:b:c']],
    ['risk', 'read'],
    ['decision', { by: 'user', rule_id: null, approval_id: null }],
    ['outcome', 'denied'],
    ['error', 'internal'],
    ['http_status', 500],
    ['duration_ms', 0.1],
    ['description', 'Something else happened.'],
    ['disclosed', [{ label: 'x', value: 'y', truncated: false }]],
    ['approval_id', randomUUID()],
    ['execution_id', randomUUID()],
    ['request_id', 'x'],
    ['trace_id', 'x'],
    ['ip', 'x'],
    ['id', randomUUID()],
    ['prev_hash', 'a'.repeat(64)],
    ['hash', 'a'.repeat(64)],
  ])('names the record whose %s was changed', async ([field, value]) => {
    const orgId = await orgWith(5);
    const { superuser } = world;
    const isJson = ['identity', 'credential', 'decision', 'disclosed'].includes(field);
    const written = isJson ? superuser.json(value as never) : value;

    await superuser`
      update audit.record set ${superuser({ [field]: written } as never)}
       where org_id = ${orgId} and seq = 3
    `;

    expect(await verify(orgId)).toMatchObject({ valid: false, first_bad_seq: 3 });
  });

  test.for([1, 2, 3, 4])('names the place of record %i when it was deleted', async (seq) => {
    const orgId = await orgWith(5);
    await world.superuser`delete from audit.record where org_id = ${orgId} and seq = ${seq}`;
    expect(await verify(orgId)).toMatchObject({ valid: false, first_bad_seq: seq });
  });

  test('finds two records that changed places', async () => {
    const orgId = await orgWith(5);
    await world.superuser.begin(async (tx) => {
      for (const [from, to] of [
        [2, 1_000],
        [4, 2],
        [1_000, 4],
      ] as const) {
        await tx`update audit.record set seq = ${to} where org_id = ${orgId} and seq = ${from}`;
      }
    });
    expect(await verify(orgId)).toMatchObject({ valid: false, first_bad_seq: 2 });
  });

  test('finds a record that was put in between, with those after it moved up', async () => {
    const orgId = await orgWith(5);
    await world.superuser.begin(async (tx) => {
      await tx`update audit.record set seq = seq + 1000 where org_id = ${orgId} and seq >= 3`;
      await tx`update audit.record set seq = seq - 999 where org_id = ${orgId} and seq >= 1000`;
      await tx`
        insert into audit.record (id, org_id, seq, at, type, permission_keys, description,
                                  disclosed, prev_hash, hash)
        select ${randomUUID()}, org_id, 3, at, type, permission_keys, description, disclosed,
               hash, hash
          from audit.record
         where org_id = ${orgId} and seq = 2
      `;
    });
    expect(await verify(orgId)).toMatchObject({ valid: false, first_bad_seq: 3 });
  });

  test("takes no notice of another org's records", async () => {
    const [tampered, whole] = [await orgWith(3), await orgWith(3)];
    await world.superuser`update audit.record set ip = 'x' where org_id = ${tampered}`;
    expect(await verify(whole)).toMatchObject({ valid: true, rows_checked: 3 });
    expect(await verify(tampered)).toMatchObject({ valid: false, first_bad_seq: 1 });
  });

  test.for(['member', null] as const)('is refused to role %s', async (role) => {
    const principal = world.principal({ orgId: randomUUID(), role });
    await expect(world.client.verify({ principal }, soon())).rejects.toMatchObject({
      code: 'forbidden',
    });
  });
});
