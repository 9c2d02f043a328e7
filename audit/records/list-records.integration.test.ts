import { randomUUID } from 'node:crypto';

import { afterAll, beforeAll, describe, expect, test } from 'vitest';

import type { AuditQuery } from '#contracts/http/audit';
import { recordEvents } from './record-events.ts';
import { createAuditWorld, eventOf, firstPage, testDeadline } from '../world.testing.ts';
import type { AuditWorld } from '../world.testing.ts';

let world: AuditWorld;
beforeAll(async () => {
  world = await createAuditWorld();
});
afterAll(() => world[Symbol.asyncDispose]());

const [ann, bob, bot, approvalId] = [randomUUID(), randomUUID(), randomUUID(), randomUUID()];

/** Creates an org with five records that differ in their descriptions. */
async function createOrgWithRecords(): Promise<string> {
  const orgId = randomUUID();
  const identity = { id: bot, kind: 'agent' as const, name: 'bot', path: ['ann', 'bot'] };
  const events = [
    { ...eventOf(orgId, { description: 'one', user_id: ann, service: 'github', risk: 'read' }) },
    { ...eventOf(orgId, { description: 'two', user_id: ann, identity, outcome: 'called' }) },
    { ...eventOf(orgId, { description: 'three', user_id: bob, approval_id: approvalId }) },
    { ...eventOf(orgId, { description: '100% of "Four"' }), type: 'rule.created' as const },
    { ...eventOf(orgId, { description: 'five' }), created_at: '2020-01-01T00:00:00.000Z' },
  ];
  await recordEvents(world.recorder, events);
  return orgId;
}

async function listDescriptions(
  principal: string,
  filter: Omit<AuditQuery, 'limit' | 'cursor'> = {},
): Promise<string[]> {
  const { items } = await world.client.list({ principal, page: firstPage, filter }, testDeadline());
  return items.map(({ description }) => description);
}

describe('listing records', () => {
  test('shows the whole org to admins and auditors, and to a member only the member’s own records', async () => {
    const orgId = await createOrgWithRecords();
    const allDescriptions = ['five', '100% of "Four"', 'three', 'two', 'one'];

    expect(await listDescriptions(world.principal({ orgId, role: 'admin' }))).toEqual(
      allDescriptions,
    );
    expect(await listDescriptions(world.principal({ orgId, role: 'auditor' }))).toEqual(
      allDescriptions,
    );
    const annPrincipal = world.principal({ orgId, role: 'member', userId: ann });
    expect(await listDescriptions(annPrincipal)).toEqual(['two', 'one']);
    expect(await listDescriptions(annPrincipal, { user_id: bob })).toEqual([]);
    expect(await listDescriptions(world.principal({ orgId: randomUUID(), role: 'admin' }))).toEqual(
      [],
    );
    await expect(
      listDescriptions(world.principal({ orgId, role: null, userId: ann })),
    ).rejects.toMatchObject({ code: 'forbidden' });
  });

  test.for<[filter: Omit<AuditQuery, 'limit' | 'cursor'>, found: string[]]>([
    [{ user_id: ann }, ['two', 'one']],
    [{ identity_id: bot }, ['two']],
    [{ identity_id: bot.toUpperCase() }, ['two']],
    [{ approval_id: approvalId }, ['three']],
    [{ service: 'github' }, ['one']],
    [{ type: 'rule.created' }, ['100% of "Four"']],
    [{ outcome: 'called' }, ['two']],
    [{ risk: 'read' }, ['one']],
    [{ until: '2021-01-01T00:00:00Z' }, ['five']],
    [{ since: '2021-01-01T00:00:00Z', user_id: bob }, ['three']],
    [{ text: 'FOUR' }, ['100% of "Four"']],
    [{ text: '%' }, ['100% of "Four"']],
    [{ text: '_' }, []],
    [{ text: '\0' }, []],
    [{ service: "' or true --" }, []],
  ])('returns for the filter %j only the matching records', async ([filter, found]) => {
    const orgId = await createOrgWithRecords();
    expect(await listDescriptions(world.principal({ orgId, role: 'admin' }), filter)).toEqual(
      found,
    );
  });

  test('returns stable pages while records are added, and refuses an invalid cursor', async () => {
    const orgId = await createOrgWithRecords();
    const principal = world.principal({ orgId, role: 'admin' });
    const list = (cursor: string | null) =>
      world.client.list({ principal, page: { limit: 2, cursor }, filter: {} }, testDeadline());

    const first = await list(null);
    await recordEvents(world.recorder, [eventOf(orgId)]);
    const second = await list(first.next_cursor);
    const third = await list(second.next_cursor);

    const seqs = [first, second, third].map(({ items }) => items.map(({ seq }) => seq));
    expect(seqs).toEqual([[5, 4], [3, 2], [1]]);
    expect(third.next_cursor).toBeNull();
    for (const invalidCursor of ['x', Buffer.from('["a"]').toString('base64url')]) {
      await expect(list(invalidCursor)).rejects.toMatchObject({ code: 'invalid_request' });
    }
  });
});
