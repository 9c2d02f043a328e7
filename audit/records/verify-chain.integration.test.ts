import { randomUUID } from 'node:crypto';

import { afterAll, beforeAll, describe, expect, test } from 'vitest';

import type { AuditVerification } from '#contracts/http/audit';
import { recordEvents } from './record-events.ts';
import { createAuditWorld, eventOf, testDeadline } from '../world.testing.ts';
import type { AuditWorld } from '../world.testing.ts';

let world: AuditWorld;
beforeAll(async () => {
  world = await createAuditWorld();
});
afterAll(() => world[Symbol.asyncDispose]());

/** Creates an org whose chain has `length` records. */
async function createOrgWithChain(length: number): Promise<string> {
  const orgId = randomUUID();
  for (let recordsLeft = length; recordsLeft > 0; recordsLeft -= 200) {
    await recordEvents(
      world.recorder,
      Array.from({ length: Math.min(recordsLeft, 200) }, (_, i) =>
        eventOf(orgId, { http_status: i }),
      ),
    );
  }
  return orgId;
}

function verifyOrgChain(orgId: string): Promise<AuditVerification> {
  return world.client.verify(
    { principal: world.principal({ orgId, role: 'admin' }) },
    testDeadline(),
  );
}

describe('verifying a chain', () => {
  test('accepts the empty chain of an org without records', async () => {
    expect(await verifyOrgChain(randomUUID())).toEqual({
      valid: true,
      rows_checked: 0,
      first_bad_seq: null,
      head: null,
    });
  });

  test('reads a long chain in several parts, and returns its newest record', async () => {
    const orgId = await createOrgWithChain(2_100);
    const [last] = await world.db<{ hash: string }[]>`
      select hash from audit.record where org_id = ${orgId} and seq = 2100
    `;
    expect(await verifyOrgChain(orgId)).toEqual({
      valid: true,
      rows_checked: 2_100,
      first_bad_seq: null,
      head: { seq: 2_100, hash: last?.hash },
    });
  });

  test('leaves a record that has a column of a later release to a replica of that release', async () => {
    const [later, tampered] = [await createOrgWithChain(2), await createOrgWithChain(2)];
    await world.superuser`alter table audit.record add column added text`;
    try {
      await world.superuser`
        update audit.record set added = 'x', hash = ${'f'.repeat(64)} where org_id = ${later} and seq = 2
      `;
      await world.superuser`
        update audit.record set service = 'other' where org_id = ${tampered} and seq = 2
      `;
      await expect(verifyOrgChain(later)).rejects.toMatchObject({
        code: 'unavailable',
        details: { unreadable: 'audit log' },
      });
      expect(await verifyOrgChain(tampered)).toMatchObject({ valid: false, first_bad_seq: 2 });
    } finally {
      await world.superuser`alter table audit.record drop column added`;
    }
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
    ['failure', 'failed'],
    ['duration_ms', 0.1],
    ['description', 'Something else happened.'],
    ['disclosed', [{ label: 'x', value: 'y', truncated: false }]],
    ['approval_id', randomUUID()],
    ['execution_id', randomUUID()],
    ['request_id', 'x'],
    ['unread', '{}'],
    ['trace_id', 'x'],
    ['ip', 'x'],
    ['id', randomUUID()],
    ['prev_hash', 'a'.repeat(64)],
    ['hash', 'a'.repeat(64)],
  ])('reports the first record whose field %s was changed', async ([field, value]) => {
    const orgId = await createOrgWithChain(5);
    const { superuser } = world;
    const isJson = ['identity', 'credential', 'decision', 'disclosed'].includes(field);
    const writtenValue = isJson ? superuser.json(value as never) : value;

    await superuser`
      update audit.record set ${superuser({ [field]: writtenValue } as never)}
       where org_id = ${orgId} and seq = 3
    `;

    expect(await verifyOrgChain(orgId)).toMatchObject({ valid: false, first_bad_seq: 3 });
  });

  test.for([1, 2, 3, 4])(
    'reports a deleted record as the first bad record: number %i',
    async (seq) => {
      const orgId = await createOrgWithChain(5);
      await world.superuser`delete from audit.record where org_id = ${orgId} and seq = ${seq}`;
      expect(await verifyOrgChain(orgId)).toMatchObject({ valid: false, first_bad_seq: seq });
    },
  );

  test('detects two swapped records', async () => {
    const orgId = await createOrgWithChain(5);
    await world.superuser.begin(async (tx) => {
      for (const [from, to] of [
        [2, 1_000],
        [4, 2],
        [1_000, 4],
      ] as const) {
        await tx`update audit.record set seq = ${to} where org_id = ${orgId} and seq = ${from}`;
      }
    });
    expect(await verifyOrgChain(orgId)).toMatchObject({ valid: false, first_bad_seq: 2 });
  });

  test('detects an inserted record even if the later records were renumbered', async () => {
    const orgId = await createOrgWithChain(5);
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
    expect(await verifyOrgChain(orgId)).toMatchObject({ valid: false, first_bad_seq: 3 });
  });

  test('ignores the records of other orgs', async () => {
    const [tampered, whole] = [await createOrgWithChain(3), await createOrgWithChain(3)];
    await world.superuser`update audit.record set ip = 'x' where org_id = ${tampered}`;
    expect(await verifyOrgChain(whole)).toMatchObject({ valid: true, rows_checked: 3 });
    expect(await verifyOrgChain(tampered)).toMatchObject({ valid: false, first_bad_seq: 1 });
  });

  test.for(['member', null] as const)('is refused to a caller with the role %j', async (role) => {
    const principal = world.principal({ orgId: randomUUID(), role });
    await expect(world.client.verify({ principal }, testDeadline())).rejects.toMatchObject({
      code: 'forbidden',
    });
  });
});
