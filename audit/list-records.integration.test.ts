import { randomUUID } from 'node:crypto';

import { afterAll, beforeAll, describe, expect, test } from 'vitest';

import type { AuditQuery } from '#contracts/http/audit';
import { recordEvents } from './usecases/record-events.ts';
import { createAuditWorld, eventOf, firstPage, soon } from './world.testing.ts';
import type { AuditWorld } from './world.testing.ts';

let world: AuditWorld;
beforeAll(async () => {
  world = await createAuditWorld();
});
afterAll(() => world[Symbol.asyncDispose]());

const [ann, bob, bot, approvalId] = [randomUUID(), randomUUID(), randomUUID(), randomUUID()];

/** Five records of an org; the descriptions tell them apart. */
async function orgWithRecords(): Promise<string> {
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

async function descriptions(
  principal: string,
  filter: Omit<AuditQuery, 'limit' | 'cursor'> = {},
): Promise<string[]> {
  const { items } = await world.client.list({ principal, page: firstPage, filter }, soon());
  return items.map(({ description }) => description);
}

describe('listing', () => {
  test('shows the org to admins and auditors, and to a member what is against itself', async () => {
    const orgId = await orgWithRecords();
    const all = ['five', '100% of "Four"', 'three', 'two', 'one'];

    expect(await descriptions(world.principal({ orgId, role: 'admin' }))).toEqual(all);
    expect(await descriptions(world.principal({ orgId, role: 'auditor' }))).toEqual(all);
    const asAnn = world.principal({ orgId, role: 'member', userId: ann });
    expect(await descriptions(asAnn)).toEqual(['two', 'one']);
    expect(await descriptions(asAnn, { user_id: bob })).toEqual([]);
    expect(await descriptions(world.principal({ orgId: randomUUID(), role: 'admin' }))).toEqual([]);
    await expect(
      descriptions(world.principal({ orgId, role: null, userId: ann })),
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
  ])('finds by %j', async ([filter, found]) => {
    const orgId = await orgWithRecords();
    expect(await descriptions(world.principal({ orgId, role: 'admin' }), filter)).toEqual(found);
  });

  test('goes page by page, unmoved by newer records, and refuses a cursor that is not ours', async () => {
    const orgId = await orgWithRecords();
    const principal = world.principal({ orgId, role: 'admin' });
    const list = (cursor: string | null) =>
      world.client.list({ principal, page: { limit: 2, cursor }, filter: {} }, soon());

    const first = await list(null);
    await recordEvents(world.recorder, [eventOf(orgId)]);
    const second = await list(first.next_cursor);
    const third = await list(second.next_cursor);

    const seqs = [first, second, third].map(({ items }) => items.map(({ seq }) => seq));
    expect(seqs).toEqual([[5, 4], [3, 2], [1]]);
    expect(third.next_cursor).toBeNull();
    for (const bad of ['x', Buffer.from('["a"]').toString('base64url')]) {
      await expect(list(bad)).rejects.toMatchObject({ code: 'invalid_request' });
    }
  });
});
