import { v7 as uuidv7 } from 'uuid';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';

import { approvalResponse } from '#contracts/http/approvals';
import { createWorld } from '../world.testing.ts';
import type { World } from '../world.testing.ts';

type PersonName =
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
let identityIds: { helper: string; sibling: string; bot: string; bobsBot: string };
beforeAll(async () => {
  world = await createWorld();
  const { helper, sibling, bot, bobsBot, suspend } = world;
  identityIds = {
    helper: await suspend(helper, { covering: [bot] }),
    sibling: await suspend(sibling),
    bot: await suspend(bot),
    bobsBot: await suspend(bobsBot),
  };
});
afterAll(() => world[Symbol.asyncDispose]());

describe('reading one approval', () => {
  test.for<[role: string, who: PersonName, relationship: string]>([
    ['the requester', 'helper', 'self'],
    ["the requester's agent", 'bot', 'downstream'],
    ["the requester's user", 'ann', 'downstream'],
    ['an admin of the org', 'admin', 'downstream'],
    ['an auditor of the org', 'auditor', 'not_in_your_chain'],
  ])('returns to %s the approval with the relationship $2', async ([, who, relationship]) => {
    const {
      proof,
      title_mac: _titleMac,
      ...approval
    } = await world.get(world[who], identityIds.helper);
    expect(
      approvalResponse.omit({ verified: true, unverified: true }).parse(approval).relationship,
    ).toBe(relationship);
    expect(proof).not.toBeNull();
  });

  test.for<[role: string, who: PersonName, code: string]>([
    ['a sibling of the requester', 'sibling', 'not_in_your_chain'],
    ['another member of the org', 'bob', 'not_in_your_chain'],
    ["an admin's agent", 'adminsBot', 'not_in_your_chain'],
    ['an admin of another org', 'stranger', 'not_found'],
  ])('is refused to %s with the error $2', async ([, who, code]) => {
    await expect(world.get(world[who], identityIds.helper)).rejects.toMatchObject({ code });
  });

  test('refuses an expired principal', async () => {
    const { client, as, helper } = world;
    const principal = as(helper, { expiresAt: Date.now() - 1_500 });
    const deadline = { remainingMs: () => 2_000, signal: AbortSignal.timeout(2_000) };

    await expect(client.get({ principal, id: identityIds.helper }, deadline)).rejects.toMatchObject(
      {
        code: 'unauthenticated',
      },
    );
  });
});

describe('explaining an approval', () => {
  test.for<[role: string, who: PersonName]>([
    ['the requester', 'helper'],
    ["the requester's agent", 'bot'],
    ['an auditor of the org', 'auditor'],
  ])('asks policy about the call of the requester, for %s', async ([, who]) => {
    world.neighbours.explained.length = 0;
    const explanation = await world.explain(world[who], identityIds.helper);

    expect(explanation).toEqual({
      why: [{ key: 'github:issues.create:acme/site', effect: 'gap' }],
    });
    expect(world.neighbours.explained).toEqual([world.helper.id]);
  });

  test.for<[role: string, who: PersonName, code: string]>([
    ['a sibling of the requester', 'sibling', 'not_in_your_chain'],
    ['another member of the org', 'bob', 'not_in_your_chain'],
    ["an admin's agent", 'adminsBot', 'not_in_your_chain'],
    ['an admin of another org', 'stranger', 'not_found'],
  ])('is refused to %s with the error $2, and policy is not asked', async ([, who, code]) => {
    world.neighbours.explained.length = 0;

    await expect(world.explain(world[who], identityIds.helper)).rejects.toMatchObject({ code });
    expect(world.neighbours.explained).toEqual([]);
  });

  test('is possible until an allowed call has run; then the call is erased, and the answer says so', async () => {
    const { ann, bot, suspend, explain, resolve, resume } = world;
    const allowed = await suspend(bot, { arg: 'acme/allowed', auto: false });
    await resolve(ann, allowed, { resolution: 'allow' });
    expect((await explain(bot, allowed)).why).toHaveLength(1);
    await resume(bot, allowed);
    const denied = await suspend(bot, { arg: 'acme/denied' });
    await resolve(ann, denied, { resolution: 'deny' });

    for (const [id, status] of [
      [allowed, 'allowed'],
      [denied, 'denied'],
    ] as const) {
      await expect(explain(ann, id)).rejects.toMatchObject({
        code: 'already_resolved',
        details: { approval_id: id, status },
      });
    }
    await world.sql`delete from approvals.execution`;
    await world.sql`delete from approvals.approval where id in ${world.sql([allowed, denied])}`;
  });
});

describe('listing approvals', () => {
  test.for<[role: string, who: PersonName, expected: (keyof typeof identityIds)[]]>([
    ['a subagent only its own approvals', 'helper', ['helper']],
    ['a sibling of that subagent only its own approvals', 'sibling', ['sibling']],
    ['an agent the approvals of itself and its subagents', 'bot', ['bot', 'sibling', 'helper']],
    ['a user the approvals of all its agents', 'ann', ['bot', 'sibling', 'helper']],
    ['another user only the approvals of its own agents', 'bob', ['bobsBot']],
    ['an admin all approvals of the org', 'admin', ['bobsBot', 'bot', 'sibling', 'helper']],
    ['an auditor all approvals of the org', 'auditor', ['bobsBot', 'bot', 'sibling', 'helper']],
    ["an admin's agent without approvals nothing", 'adminsBot', []],
    ['an admin of another org nothing', 'stranger', []],
  ])('shows to %s, newest first', async ([, who, expected]) => {
    const page = await world.list(world[who]);

    expect(page.items.map((item) => item.id)).toEqual(expected.map((name) => identityIds[name]));
    expect(page.next_cursor).toBeNull();
  });

  test('filters by state, requester, resolver and service', async () => {
    const { ann, bot, helper, list, resolve } = world;
    const idsOf = async (query: Parameters<typeof list>[1], who = ann) =>
      (await list(who, query)).items.map((item) => item.id);

    expect(await idsOf({ requesterId: helper.id })).toEqual([identityIds.helper]);
    expect(await idsOf({ assignedToMe: true }, bot)).toEqual([identityIds.helper]);
    expect(await idsOf({ assignedToMe: true })).toEqual([identityIds.bot, identityIds.sibling]);
    expect(await idsOf({ service: 'gitlab' })).toEqual([]);
    expect(await idsOf({ service: 'github', status: 'pending' })).toHaveLength(3);
    await resolve(bot, identityIds.helper, { resolution: 'bubble' });
    expect(await idsOf({ status: 'bubbled' })).toEqual([identityIds.helper]);
    expect(await idsOf({ status: 'open' })).toHaveLength(3);
    await resolve(ann, identityIds.helper, { resolution: 'deny' });
    expect(await idsOf({ status: 'open' })).toEqual([identityIds.bot, identityIds.sibling]);
    expect(await idsOf({ status: 'denied' })).toEqual([identityIds.helper]);
  });

  test('returns every approval once, page by page', async () => {
    const { admin, list } = world;
    const seenIds: string[] = [];
    let cursor: string | null = null;
    do {
      const page: Awaited<ReturnType<typeof list>> = await list(admin, {
        page: { limit: 3, cursor },
      });
      seenIds.push(...page.items.map((item) => item.id));
      cursor = page.next_cursor;
    } while (cursor !== null);

    expect(seenIds).toEqual([
      identityIds.bobsBot,
      identityIds.bot,
      identityIds.sibling,
      identityIds.helper,
    ]);
  });

  test('sorts, and filters decided approvals, by risk and by words, page by page', async () => {
    await using listWorld = await createWorld();
    const { ann, bot, suspend, resolve, list, sql, stranger, until } = listWorld;
    const ids: string[] = [];
    for (const [arg, risk, description] of [
      ['acme/a', 'write', 'Create issue "Umlaut ä" 100%_\\ "b"'],
      ['acme/b', 'delete', 'Delete the BOARD'],
      ['acme/c', 'write', 'Read a board'],
    ] as const) {
      listWorld.neighbours.description = description;
      ids.push(await suspend(bot, { arg, risk }));
    }
    await resolve(ann, ids[0]!, { resolution: 'deny', reason: 'not now' });
    const conditions = { isDecided: false, words: [], risk: null, isOldestFirst: false };
    const read = async (change: object = {}, limit = 50, who = ann) => {
      const seenIndexes: number[] = [];
      let cursor: string | null = null;
      do {
        const page: Awaited<ReturnType<typeof list>> = await list(who, {
          page: { limit, cursor },
          further: { ...conditions, ...change },
        });
        seenIndexes.push(...page.items.map(({ id }) => ids.indexOf(id)));
        cursor = page.next_cursor;
      } while (cursor !== null);
      return seenIndexes;
    };

    expect(await read()).toEqual([2, 1, 0]);
    expect(await read({ isOldestFirst: true }, 1)).toEqual([0, 1, 2]);
    expect(await read({ isDecided: true })).toEqual([0]);
    const { items } = await list(ann, { further: { ...conditions, isDecided: true } });
    expect(items).toMatchObject([{ reason: 'not now', resolved_by: { id: ann.id, name: 'ann' } }]);
    expect(await read({ risk: 'delete' })).toEqual([1]);
    const search = async () => [
      await read({ words: ['board'] }, 1),
      await read({ words: ['board'], isOldestFirst: true }, 1),
      await read({ words: ['umlaut', 'Ä'] }),
      await read({ words: ['100%_'] }),
      await read({ words: ['%'] }),
      await read({ words: ['BOT', 'issues.create'] }),
      await read({ words: ['board', 'umlaut'] }),
      await read({ words: ['suggested'] }),
      await read({ words: ['board'] }, 50, stranger),
    ];
    const found = [[2, 1], [1, 2], [0], [0], [0], [2, 1, 0], [], [], []];
    expect(await search()).toEqual(found);
    // An earlier release stored no search text, only the card.
    await sql`update approvals.approval set search_text = null`;
    // The newest approval is filled first. It cannot be read, which must not keep the others
    // waiting.
    await sql`
      insert into approvals.approval
      select unreadable.*
        from approvals.approval a,
             jsonb_populate_record(a, jsonb_build_object('id', ${uuidv7()}::text,
               'org_id', ${uuidv7()}::text, 'card', '{')) as unreadable
       limit 1
    `;
    await until(
      () => sql`select from approvals.approval where search_text is null`,
      (rows) => rows.length === 0,
    );
    expect(await search()).toEqual(found);
  });

  test('lists decided approvals in the order of the decisions, each once, page by page', async () => {
    await using listWorld = await createWorld();
    const { ann, bot, suspend, resolve, list, sql, admin } = listWorld;
    const ids: string[] = [];
    for (let index = 0; index < 5; index += 1)
      ids.push(await suspend(bot, { arg: `acme/${index}` }));
    const decide = async (index: number, at: string) => {
      await resolve(ann, ids[index]!, { resolution: 'deny' });
      await sql`update approvals.approval set resolved_at = ${at}::text::timestamptz where id = ${ids[index]!}`;
    };
    // Two approvals are decided at the same moment, and all within two microseconds.
    await decide(3, '2026-05-01T10:00:00.000100Z');
    await decide(0, '2026-05-01T10:00:00.000100Z');
    await decide(2, '2026-05-01T10:00:00.000101Z');
    await decide(1, '2026-05-01T10:00:00.000099Z');
    const read = async ({
      who = ann,
      query = {},
      further,
    }: {
      who?: typeof ann;
      query?: Parameters<typeof list>[1];
      further?: object;
    }) => {
      const seenIndexes: number[] = [];
      let cursor: string | null = null;
      do {
        const page: Awaited<ReturnType<typeof list>> = await list(who, {
          ...query,
          page: { limit: 1, cursor },
          ...(further && {
            further: { isDecided: true, words: [], risk: null, isOldestFirst: false, ...further },
          }),
        });
        seenIndexes.push(...page.items.map(({ id }) => ids.indexOf(id)));
        cursor = page.next_cursor;
      } while (cursor !== null && seenIndexes.length < 10);
      return seenIndexes;
    };

    for (const who of [ann, admin]) {
      expect(await read({ who, further: {} })).toEqual([2, 3, 0, 1]);
      expect(await read({ who, further: { isOldestFirst: true } })).toEqual([1, 0, 3, 2]);
      expect(await read({ who, query: { status: 'denied' } })).toEqual([2, 3, 0, 1]);
    }
    expect(await read({ query: { requesterId: bot.id }, further: {} })).toEqual([2, 3, 0, 1]);
    expect(await read({ further: { words: ['create'] } })).toEqual([2, 3, 0, 1]);
    expect(await read({ query: { status: 'expired' } })).toEqual([]);

    const first = await list(ann, { status: 'denied', page: { limit: 2, cursor: null } });
    await decide(4, '2026-05-01T11:00:00Z');
    const { next_cursor: cursor } = first;
    const second = await list(ann, { status: 'denied', page: { limit: 2, cursor } });
    const seenIndexes = [...first.items, ...second.items].map(({ id }) => ids.indexOf(id));
    expect(seenIndexes).toEqual([2, 3, 0, 1]);
    expect(second.next_cursor).toBeNull();
    // A cursor of one order is invalid in another order.
    await expect(list(ann, { page: { limit: 2, cursor } })).rejects.toMatchObject({
      code: 'invalid_request',
    });
  });

  test('looks at a limited number of approvals for one page, and the next page continues there', async () => {
    await using longWorld = await createWorld();
    const { admin, ann, bot, suspend, list, sql } = longWorld;
    const id = await suspend(bot, { arg: 'acme/first' });
    await sql`update approvals.approval set service = 'needle', search_text = 'needle'`;
    const columns = (
      await sql<{ name: string }[]>`
        select column_name as name
          from information_schema.columns
         where table_schema = 'approvals'
           and table_name = 'approval'
      `
    ).map(({ name }) => name);
    const changed: Record<string, string> = {
      id: 'gen_random_uuid()',
      call_digest: 'n::text',
      service: "'hay'",
      search_text: "'hay'",
    };
    await sql.unsafe(`
      insert into approvals.approval (${columns.join()})
      select ${columns.map((name) => changed[name] ?? name).join()}
        from approvals.approval, generate_series(1, 12000) n`);
    await sql`update approvals.approval set id = '00000000-0000-7000-8000-000000000000' where id = ${id}`;
    const further = { isDecided: false, words: [], risk: null, isOldestFirst: false };

    for (const who of [admin, ann]) {
      for (const query of [
        { service: 'needle' },
        { status: 'open' as const, service: 'needle' },
        { further: { ...further, words: ['needle'] } },
      ]) {
        const pages: Awaited<ReturnType<typeof list>>[] = [];
        do {
          const cursor = pages.at(-1)?.next_cursor ?? null;
          pages.push(await list(who, { ...query, page: { limit: 50, cursor } }));
        } while (pages.at(-1)?.next_cursor !== null);

        expect(pages.length).toBeGreaterThan(1);
        expect(pages.flatMap(({ items }) => items)).toMatchObject([{ service: 'needle' }]);
      }
    }
  });

  test.for([
    'x',
    Buffer.from('["x"]').toString('base64url'),
    Buffer.from('[]').toString('base64url'),
  ])('refuses the invalid cursor %s', async (cursor) => {
    await expect(world.list(world.ann, { page: { limit: 10, cursor } })).rejects.toMatchObject({
      code: 'invalid_request',
    });
  });

  test.for<[how: string, words: readonly string[]]>([
    ['listed', []],
    ['searched', ['bot']],
  ])(
    'ends a page of large approvals early when they are %s, and continues on the next',
    async ([, words]) => {
      await using largeWorld = await createWorld();
      const { ann, helper, suspend, list, sql } = largeWorld;
      for (let index = 0; index < 12; index += 1) await suspend(helper, { arg: `acme/${index}` });
      const disclosed = Array.from({ length: 10 }, () => ({
        label: 'x',
        value: 'y'.repeat(10_000),
        truncated: false,
      }));
      await sql`update approvals.approval set card = jsonb_set(replace(replace(card, '\\u0000', ''), '\\ud800', '')::jsonb, '{disclosed}', ${sql.json(disclosed)})::text`;
      const pages: string[][] = [];
      let cursor: string | null = null;
      do {
        const page: Awaited<ReturnType<typeof list>> = await list(ann, {
          page: { limit: 50, cursor },
          further: { isDecided: false, words: [...words], risk: null, isOldestFirst: false },
        });
        // Agents determine the size of cards and everybody above them reads the cards, so a page
        // has a limit in bytes.
        expect(JSON.stringify(page).length).toBeLessThan(600_000);
        pages.push(page.items.map((item) => item.id));
        cursor = page.next_cursor;
      } while (cursor !== null);

      expect(pages.map((ids) => ids.length)).toEqual([5, 5, 2]);
      expect(new Set(pages.flat()).size).toBe(12);
    },
  );
});
