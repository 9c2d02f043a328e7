import { afterAll, beforeAll, describe, expect, test } from 'vitest';

import { context, createAuthWorld, testDeadline } from '../world.testing.ts';
import type { AuthWorld, Person } from '../world.testing.ts';

const page = { limit: 50, cursor: null };

/** All tests share this component; each test creates its own org. */
let world: AuthWorld;
beforeAll(async () => {
  world = await createAuthWorld();
});
afterAll(() => world[Symbol.asyncDispose]());

/** Ann and Bob are members of one org with an admin and an auditor; Eve belongs to another org. */
async function createCast() {
  const admin = await world.user({ name: 'root', role: 'admin' });
  const { orgId } = admin;
  const auditor = await world.user({ name: 'olga', role: 'auditor', orgId });
  const ann = await world.user({ name: 'ann', role: 'member', orgId });
  const bob = await world.user({ name: 'bob', role: 'member', orgId });
  const eve = await world.user({ name: 'eve', role: 'admin' });
  const bot = await world.agent(ann, 'bot');
  const sub = await world.subagent(bot, 'sub');
  const subsub = await world.subagent(sub, 'subsub');
  const bobsBot = await world.agent(bob, 'bot');
  const adminsBot = await world.agent(admin, 'bot');
  return { admin, auditor, ann, bob, eve, bot, sub, subsub, bobsBot, adminsBot };
}
type Cast = Awaited<ReturnType<typeof createCast>>;
type CastName = keyof Cast;

/** The names of these identities in the titles of the tests. */
const titleNames: Record<CastName, string> = {
  admin: 'an admin',
  auditor: 'an auditor',
  ann: 'a member',
  bob: 'another member',
  eve: 'an admin of another org',
  bot: "the member's agent",
  sub: "the agent's subagent",
  subsub: "the subagent's subagent",
  bobsBot: "another member's agent",
  adminsBot: "an admin's agent",
};

const outcomeCodeOf = (attempt: Promise<unknown>): Promise<string> =>
  attempt.then(
    () => 'ok',
    (error: { code?: string }) => error.code ?? String(error),
  );

describe("the caller's relation to an identity", () => {
  test('decides whether the caller may read the identity, create agents or subagents, and list or create agent keys', async () => {
    const cast = await createCast();
    const { client } = world;
    let createdCount = 0;
    const attemptsByAction = {
      get: (by: Person, on: Person) =>
        client.getIdentity({ principal: by.principal, id: on.id }, testDeadline()),
      'create agent': (by: Person) =>
        client.createAgent(
          { principal: by.principal, body: { name: `a${++createdCount}` }, context },
          testDeadline(),
        ),
      'create subagent below': (by: Person, on: Person) => {
        const body = { name: `s${++createdCount}`, parent_id: on.id };
        return client.createSubagent({ principal: by.principal, body, context }, testDeadline());
      },
      'list keys of': (by: Person, on: Person) =>
        client.listAgentKeys({ principal: by.principal, id: on.id, page }, testDeadline()),
      'create a key for': (by: Person, on: Person) =>
        client.createAgentKey(
          { principal: by.principal, id: on.id, body: { name: 'k' }, context },
          testDeadline(),
        ),
    };

    const rows: [
      by: CastName,
      what: keyof typeof attemptsByAction,
      on: CastName,
      outcome: string,
    ][] = [
      ['ann', 'get', 'ann', 'ok'],
      ['ann', 'get', 'subsub', 'ok'],
      ['ann', 'get', 'bob', 'not_found'],
      ['ann', 'get', 'bobsBot', 'not_found'],
      ['bot', 'get', 'sub', 'ok'],
      ['bot', 'get', 'ann', 'not_found'],
      ['sub', 'get', 'bot', 'not_found'],
      ['admin', 'get', 'bobsBot', 'ok'],
      ['auditor', 'get', 'subsub', 'ok'],
      ['adminsBot', 'get', 'ann', 'not_found'],
      ['eve', 'get', 'ann', 'not_found'],
      ['ann', 'get', 'eve', 'not_found'],

      ['ann', 'create agent', 'ann', 'ok'],
      ['admin', 'create agent', 'admin', 'ok'],
      ['auditor', 'create agent', 'auditor', 'forbidden'],
      ['bot', 'create agent', 'bot', 'forbidden'],
      ['sub', 'create agent', 'sub', 'forbidden'],

      ['bot', 'create subagent below', 'bot', 'ok'],
      ['bot', 'create subagent below', 'sub', 'forbidden'],
      ['bot', 'create subagent below', 'bobsBot', 'not_found'],
      ['sub', 'create subagent below', 'bot', 'not_found'],
      ['ann', 'create subagent below', 'sub', 'ok'],
      ['ann', 'create subagent below', 'ann', 'invalid_params'],
      ['ann', 'create subagent below', 'bobsBot', 'not_found'],
      ['admin', 'create subagent below', 'bobsBot', 'forbidden'],
      ['auditor', 'create subagent below', 'bot', 'forbidden'],
      ['eve', 'create subagent below', 'bot', 'not_found'],

      ['ann', 'list keys of', 'subsub', 'ok'],
      ['bot', 'list keys of', 'sub', 'ok'],
      ['bot', 'list keys of', 'subsub', 'forbidden'],
      ['bot', 'list keys of', 'bot', 'forbidden'],
      ['auditor', 'list keys of', 'bot', 'ok'],
      ['admin', 'list keys of', 'bot', 'ok'],
      ['bob', 'list keys of', 'bot', 'not_found'],
      ['eve', 'list keys of', 'bot', 'not_found'],

      ['ann', 'create a key for', 'bot', 'ok'],
      ['ann', 'create a key for', 'subsub', 'ok'],
      ['ann', 'create a key for', 'ann', 'forbidden'],
      ['bot', 'create a key for', 'sub', 'ok'],
      ['bot', 'create a key for', 'subsub', 'forbidden'],
      ['bot', 'create a key for', 'bot', 'forbidden'],
      ['admin', 'create a key for', 'bobsBot', 'ok'],
      ['admin', 'create a key for', 'ann', 'forbidden'],
      ['adminsBot', 'create a key for', 'bobsBot', 'not_found'],
      ['auditor', 'create a key for', 'bot', 'forbidden'],
      ['bob', 'create a key for', 'bot', 'not_found'],
      ['eve', 'create a key for', 'bot', 'not_found'],
    ];
    const outcomes = await Promise.all(
      rows.map(async ([by, what, on]) => [
        by,
        what,
        on,
        await outcomeCodeOf(attemptsByAction[what](cast[by], cast[on])),
      ]),
    );

    expect(outcomes).toEqual(rows);
  });

  const revocations: [by: CastName, on: CastName, outcome: string][] = [
    ['ann', 'bot', 'ok'],
    ['bot', 'subsub', 'ok'],
    ['admin', 'bobsBot', 'ok'],
    ['admin', 'ann', 'ok'],
    ['ann', 'ann', 'forbidden'],
    ['bot', 'bot', 'forbidden'],
    ['sub', 'bot', 'not_found'],
    ['bob', 'bot', 'not_found'],
    ['auditor', 'bot', 'forbidden'],
    ['adminsBot', 'bot', 'not_found'],
    ['eve', 'bot', 'not_found'],
    ['admin', 'admin', 'forbidden'],
  ];
  test.for(
    revocations.map(
      ([by, on, outcome]) =>
        [titleNames[by], by === on ? 'itself' : titleNames[on], outcome, by, on] as const,
    ),
  )('decides whether %s may revoke %s (outcome: %s)', async ([, , outcome, by, on]) => {
    const cast = await createCast();
    const request = { principal: cast[by].principal, id: cast[on].id, context };

    expect(await outcomeCodeOf(world.client.revokeIdentity(request, testDeadline()))).toBe(outcome);

    const chain = { orgId: cast[on].orgId, identityId: cast[on].id };
    expect(await world.approvalsClient.getChain(chain, testDeadline())).toMatchObject({
      active: outcome !== 'ok',
    });
  });

  test('lets only one of two admins succeed when they revoke each other at the same time', async () => {
    const firstUser = await world.user({ name: 'one', role: 'admin' });
    const secondUser = await world.user({ name: 'two', role: 'admin', orgId: firstUser.orgId });

    const outcomes = await Promise.all(
      [
        { principal: firstUser.principal, id: secondUser.id, context },
        { principal: secondUser.principal, id: firstUser.id, context },
      ].map((request) => outcomeCodeOf(world.client.revokeIdentity(request, testDeadline()))),
    );

    expect(outcomes.toSorted()).toEqual(['forbidden', 'ok']);
  });
});

describe('listing identities', () => {
  test('shows the whole org to admins and auditors, and to all others their own subtree', async () => {
    const cast = await createCast();
    const listPaths = async (by: Person) => {
      const { items } = await world.client.listIdentities(
        { principal: by.principal, page },
        testDeadline(),
      );
      return items.map(({ path }) => path.join('/'));
    };

    expect(await listPaths(cast.ann)).toEqual([
      'ann',
      'ann/bot',
      'ann/bot/sub',
      'ann/bot/sub/subsub',
    ]);
    expect(await listPaths(cast.sub)).toEqual(['ann/bot/sub', 'ann/bot/sub/subsub']);
    expect(await listPaths(cast.adminsBot)).toEqual(['root/bot']);
    expect(await listPaths(cast.admin)).toHaveLength(9);
    expect(await listPaths(cast.auditor)).toEqual(await listPaths(cast.admin));
    expect(await listPaths(cast.eve)).toEqual(['eve']);
  });

  test('returns the identities in pages, and refuses a forged cursor', async () => {
    const { admin } = await createCast();
    const seenIds: string[] = [];
    let cursor: string | null = null;
    do {
      const reply: { items: { id: string }[]; next_cursor: string | null } =
        await world.client.listIdentities(
          { principal: admin.principal, page: { limit: 4, cursor } },
          testDeadline(),
        );
      seenIds.push(...reply.items.map(({ id }) => id));
      cursor = reply.next_cursor;
    } while (cursor !== null);
    expect(new Set(seenIds).size).toBe(9);

    for (const invalidCursor of ['x', Buffer.from('["1"]').toString('base64url')]) {
      await expect(
        world.client.listIdentities(
          { principal: admin.principal, page: { limit: 4, cursor: invalidCursor } },
          testDeadline(),
        ),
      ).rejects.toMatchObject({ code: 'invalid_request' });
    }
  });
});

describe('creating an identity', () => {
  test('succeeds once and fails seven times with conflict when eight requests use the same name at once', async () => {
    const ann = await world.user({ name: 'ann', role: 'member' });
    const request = { principal: ann.principal, body: { name: 'bot' }, context };

    const outcomes = await Promise.all(
      Array.from({ length: 8 }, () =>
        outcomeCodeOf(world.client.createAgent(request, testDeadline())),
      ),
    );

    expect(outcomes.filter((outcome) => outcome === 'ok')).toHaveLength(1);
    expect(outcomes.filter((outcome) => outcome === 'conflict')).toHaveLength(7);
  });

  test('succeeds with the name of a revoked agent or an expired subagent', async () => {
    const { client, db } = world;
    const ann = await world.user({ name: 'ann', role: 'member' });
    const first = await world.agent(ann, 'bot');
    await client.revokeIdentity(
      { principal: ann.principal, id: first.id, context },
      testDeadline(),
    );
    const bot = await world.agent(ann, 'bot');
    const sub = await world.subagent(bot, 'sub');

    await expect(world.subagent(bot, 'sub')).rejects.toMatchObject({ code: 'conflict' });
    await db`update auth.identity set expires_at = now() where id = ${sub.id}`;
    const next = await world.subagent(bot, 'sub');

    expect(next.id).not.toBe(sub.id);
  });

  test('stores the requested fields of a subagent', async () => {
    const ann = await world.user({ name: 'ann', role: 'member' });
    const bot = await world.agent(ann, 'bot');
    const body = { name: 'helper', inherit_permissions: true, ttl: '1d12h' };

    const createdSubagent = await world.client.createSubagent(
      { principal: bot.principal, body, context },
      testDeadline(),
    );

    expect(createdSubagent).toMatchObject({
      kind: 'subagent',
      parent_id: bot.id,
      owner_id: ann.id,
      depth: 2,
      path: ['ann', 'bot', 'helper'],
      inherit_permissions: true,
      auto_call_on_approve: true,
      status: 'active',
    });
    const lifetimeMs =
      Date.parse(createdSubagent.expires_at ?? '') - Date.parse(createdSubagent.created_at);
    expect(lifetimeMs).toBe(36 * 3_600_000);
  });

  test.for([
    [{ name: 'x', ttl: '1w' }, 'invalid_params'],
    [{ name: 'x', ttl: '0s' }, 'invalid_params'],
    [{ name: 'x', ttl: '366d' }, 'invalid_params'],
    [{ name: 'X' }, 'invalid_request'],
    [{ name: 'org' }, 'invalid_request'],
    [{ name: 'x', parent_id: 'x' }, 'invalid_request'],
    [{ name: 'x', parent_id: '0198c0de-0000-7000-8000-000000000000' }, 'not_found'],
  ] as const)('refuses the subagent %j with %s', async ([body, code]) => {
    const ann = await world.user({ name: 'ann', role: 'member' });
    const bot = await world.agent(ann, 'bot');

    await expect(
      world.client.createSubagent({ principal: bot.principal, body, context }, testDeadline()),
    ).rejects.toMatchObject({ code });
  });

  test('is refused below the eighth level of the tree of identities', async () => {
    const ann = await world.user({ name: 'ann', role: 'member' });
    let last = await world.agent(ann, 'bot');
    for (let depth = 2; depth <= 8; depth += 1) last = await world.subagent(last, 'sub');

    expect(last.claims.chain).toHaveLength(9);
    await expect(world.subagent(last, 'sub')).rejects.toMatchObject({ code: 'conflict' });
  });

  test('is refused when one agent has 64 active subagents, even for parallel requests', async () => {
    const { client } = world;
    const ann = await world.user({ name: 'ann', role: 'member' });
    const bot = await world.agent(ann, 'bot');

    const outcomes = await Promise.all(
      Array.from({ length: 70 }, (_, i) =>
        outcomeCodeOf(
          client.createSubagent(
            { principal: bot.principal, body: { name: `s${i}` }, context },
            testDeadline(),
          ),
        ),
      ),
    );

    expect(outcomes.filter((outcome) => outcome === 'ok')).toHaveLength(64);
    expect(outcomes.filter((outcome) => outcome === 'conflict')).toHaveLength(6);
    await world.subagent(await world.agent(ann, 'other'), 'unaffected');
  });
});
