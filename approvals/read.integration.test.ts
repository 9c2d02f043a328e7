import { afterAll, beforeAll, describe, expect, test } from 'vitest';

import { approvalResponse } from '#contracts/http/approvals';
import { createWorld } from './world.testing.ts';
import type { World } from './world.testing.ts';

type Name =
  | 'ann'
  | 'bot'
  | 'helper'
  | 'sibling'
  | 'bob'
  | 'admin'
  | 'adminsBot'
  | 'auditor'
  | 'stranger';

let world: World;
let ids: { helper: string; sibling: string; bot: string; bobsBot: string };
beforeAll(async () => {
  world = await createWorld();
  const { helper, sibling, bot, bobsBot, suspend } = world;
  ids = {
    helper: await suspend(helper, { covering: [bot] }),
    sibling: await suspend(sibling),
    bot: await suspend(bot),
    bobsBot: await suspend(bobsBot),
  };
});
afterAll(() => world[Symbol.asyncDispose]());

describe('get', () => {
  test.for<[who: Name, relationship: string | null, code?: string]>([
    ['helper', 'self'],
    ['bot', 'downstream'],
    ['ann', 'downstream'],
    ['admin', 'downstream'],
    ['auditor', 'not_in_your_chain'],
    ['sibling', null, 'not_in_your_chain'],
    ['bob', null, 'not_in_your_chain'],
    ['adminsBot', null, 'not_in_your_chain'],
    ['stranger', null, 'not_found'],
  ])('%s: %s', async ([who, relationship, code]) => {
    const reading = world.get(world[who], ids.helper);
    if (relationship === null) await expect(reading).rejects.toMatchObject({ code });
    else {
      const { proof, ...approval } = await reading;
      expect(
        approvalResponse.omit({ verified: true, unverified: true }).parse(approval).relationship,
      ).toBe(relationship);
      expect(proof).not.toBeNull();
    }
  });

  test('an expired principal reads nothing', async () => {
    const { client, as, helper } = world;
    const principal = as(helper, { expiresAt: Date.now() - 1_500 });
    const deadline = { remainingMs: () => 2_000, signal: AbortSignal.timeout(2_000) };

    await expect(client.get({ principal, id: ids.helper }, deadline)).rejects.toMatchObject({
      code: 'unauthenticated',
    });
  });
});

describe('list', () => {
  test.for<[who: Name, expected: (keyof typeof ids)[]]>([
    ['helper', ['helper']],
    ['sibling', ['sibling']],
    ['bot', ['bot', 'sibling', 'helper']],
    ['ann', ['bot', 'sibling', 'helper']],
    ['bob', ['bobsBot']],
    ['admin', ['bobsBot', 'bot', 'sibling', 'helper']],
    ['auditor', ['bobsBot', 'bot', 'sibling', 'helper']],
    ['adminsBot', []],
    ['stranger', []],
  ])('%s sees its own subtree, newest first', async ([who, expected]) => {
    const page = await world.list(world[who]);

    expect(page.items.map((item) => item.id)).toEqual(expected.map((name) => ids[name]));
    expect(page.next_cursor).toBeNull();
  });

  test('filters by state, requester, assignment and service', async () => {
    const { ann, bot, helper, list, resolve } = world;
    const idsOf = async (query: Parameters<typeof list>[1], who = ann) =>
      (await list(who, query)).items.map((item) => item.id);

    expect(await idsOf({ requesterId: helper.id })).toEqual([ids.helper]);
    expect(await idsOf({ assignedToMe: true }, bot)).toEqual([ids.helper]);
    expect(await idsOf({ assignedToMe: true })).toEqual([ids.bot, ids.sibling]);
    expect(await idsOf({ service: 'gitlab' })).toEqual([]);
    expect(await idsOf({ service: 'github', status: 'pending' })).toHaveLength(3);
    await resolve(bot, ids.helper, { resolution: 'bubble' });
    expect(await idsOf({ status: 'bubbled' })).toEqual([ids.helper]);
    expect(await idsOf({ status: 'open' })).toHaveLength(3);
    await resolve(ann, ids.helper, { resolution: 'deny' });
    expect(await idsOf({ status: 'open' })).toEqual([ids.bot, ids.sibling]);
    expect(await idsOf({ status: 'denied' })).toEqual([ids.helper]);
  });

  test('gives every approval once, page by page', async () => {
    const { admin, list } = world;
    const seen: string[] = [];
    let cursor: string | null = null;
    do {
      const page: Awaited<ReturnType<typeof list>> = await list(admin, {
        page: { limit: 3, cursor },
      });
      seen.push(...page.items.map((item) => item.id));
      cursor = page.next_cursor;
    } while (cursor !== null);

    expect(seen).toEqual([ids.bobsBot, ids.bot, ids.sibling, ids.helper]);
  });

  test.for([
    'x',
    Buffer.from('["x"]').toString('base64url'),
    Buffer.from('[]').toString('base64url'),
  ])('the cursor %s is refused', async (cursor) => {
    await expect(world.list(world.ann, { page: { limit: 10, cursor } })).rejects.toMatchObject({
      code: 'invalid_request',
    });
  });

  test('a page of large approvals ends early, and goes on', async () => {
    await using large = await createWorld();
    const { ann, helper, suspend, list, sql } = large;
    for (let index = 0; index < 12; index += 1) await suspend(helper, { arg: `acme/${index}` });
    const disclosed = Array.from({ length: 40 }, () => ({
      label: 'x',
      value: 'y'.repeat(10_000),
      truncated: false,
    }));
    await sql`update approvals.approval set card = jsonb_set(replace(replace(card, '\\u0000', ''), '\\ud800', '')::jsonb, '{disclosed}', ${sql.json(disclosed)})::text`;
    const seen: string[] = [];
    let cursor: string | null = null;
    do {
      const page: Awaited<ReturnType<typeof list>> = await list(ann, {
        page: { limit: 50, cursor },
      });
      expect(page.items.length).toBeLessThan(12);
      seen.push(...page.items.map((item) => item.id));
      cursor = page.next_cursor;
    } while (cursor !== null);

    expect(new Set(seen).size).toBe(12);
  });
});
