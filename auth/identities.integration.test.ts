import { afterAll, beforeAll, describe, expect, test } from 'vitest';

import { context, createAuthWorld, soon } from './world.testing.ts';
import type { AuthWorld, Person } from './world.testing.ts';

const page = { limit: 50, cursor: null };

/** One component for all tests: each makes an org of its own. */
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
type Name = keyof Cast;

const outcomeOf = (attempt: Promise<unknown>): Promise<string> =>
  attempt.then(
    () => 'ok',
    (error: { code?: string }) => error.code ?? String(error),
  );

describe('who may do what', () => {
  test('reading, making, keying and revoking', async () => {
    const cast = await createCast();
    const { client } = world;
    let made = 0;
    const act = {
      get: (by: Person, on: Person) =>
        client.getIdentity({ principal: by.principal, id: on.id }, soon()),
      'create agent': (by: Person) =>
        client.createAgent(
          { principal: by.principal, body: { name: `a${++made}` }, context },
          soon(),
        ),
      'create subagent below': (by: Person, on: Person) => {
        const body = { name: `s${++made}`, parent_id: on.id };
        return client.createSubagent({ principal: by.principal, body, context }, soon());
      },
      'list keys of': (by: Person, on: Person) =>
        client.listAgentKeys({ principal: by.principal, id: on.id, page }, soon()),
      'make a key for': (by: Person, on: Person) =>
        client.createAgentKey(
          { principal: by.principal, id: on.id, body: { name: 'k' }, context },
          soon(),
        ),
    };

    const rows: [by: Name, what: keyof typeof act, on: Name, outcome: string][] = [
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

      ['ann', 'make a key for', 'bot', 'ok'],
      ['ann', 'make a key for', 'subsub', 'ok'],
      ['ann', 'make a key for', 'ann', 'forbidden'],
      ['bot', 'make a key for', 'sub', 'ok'],
      ['bot', 'make a key for', 'subsub', 'forbidden'],
      ['bot', 'make a key for', 'bot', 'forbidden'],
      ['admin', 'make a key for', 'bobsBot', 'ok'],
      ['admin', 'make a key for', 'ann', 'forbidden'],
      ['adminsBot', 'make a key for', 'bobsBot', 'not_found'],
      ['auditor', 'make a key for', 'bot', 'forbidden'],
      ['bob', 'make a key for', 'bot', 'not_found'],
      ['eve', 'make a key for', 'bot', 'not_found'],
    ];
    const outcomes = await Promise.all(
      rows.map(async ([by, what, on]) => [
        by,
        what,
        on,
        await outcomeOf(act[what](cast[by], cast[on])),
      ]),
    );

    expect(outcomes).toEqual(rows);
  });

  test.for<[by: Name, on: Name, outcome: string]>([
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
  ])('%s revokes %s: %s', async ([by, on, outcome]) => {
    const cast = await createCast();
    const request = { principal: cast[by].principal, id: cast[on].id, context };

    expect(await outcomeOf(world.client.revokeIdentity(request, soon()))).toBe(outcome);

    const chain = { orgId: cast[on].orgId, identityId: cast[on].id };
    expect(await world.approvals.getChain(chain, soon())).toMatchObject({
      active: outcome !== 'ok',
    });
  });

  test('an admin may go once there is another one, and two cannot remove each other', async () => {
    const one = await world.user({ name: 'one', role: 'admin' });
    const two = await world.user({ name: 'two', role: 'admin', orgId: one.orgId });

    const outcomes = await Promise.all(
      [
        { principal: one.principal, id: two.id, context },
        { principal: two.principal, id: one.id, context },
      ].map((request) => outcomeOf(world.client.revokeIdentity(request, soon()))),
    );

    expect(outcomes.toSorted()).toEqual(['forbidden', 'ok']);
  });
});

describe('listing identities', () => {
  test('shows the org to admins and auditors, the own subtree to others, nothing of another org', async () => {
    const cast = await createCast();
    const paths = async (by: Person) => {
      const { items } = await world.client.listIdentities(
        { principal: by.principal, page },
        soon(),
      );
      return items.map(({ path }) => path.join('/'));
    };

    expect(await paths(cast.ann)).toEqual(['ann', 'ann/bot', 'ann/bot/sub', 'ann/bot/sub/subsub']);
    expect(await paths(cast.sub)).toEqual(['ann/bot/sub', 'ann/bot/sub/subsub']);
    expect(await paths(cast.adminsBot)).toEqual(['root/bot']);
    expect(await paths(cast.admin)).toHaveLength(9);
    expect(await paths(cast.auditor)).toEqual(await paths(cast.admin));
    expect(await paths(cast.eve)).toEqual(['eve']);
  });

  test('goes page by page, and refuses a cursor that is not ours', async () => {
    const { admin } = await createCast();
    const seen: string[] = [];
    let cursor: string | null = null;
    do {
      const reply: { items: { id: string }[]; next_cursor: string | null } =
        await world.client.listIdentities(
          { principal: admin.principal, page: { limit: 4, cursor } },
          soon(),
        );
      seen.push(...reply.items.map(({ id }) => id));
      cursor = reply.next_cursor;
    } while (cursor !== null);
    expect(new Set(seen).size).toBe(9);

    for (const bad of ['x', Buffer.from('["1"]').toString('base64url')]) {
      await expect(
        world.client.listIdentities(
          { principal: admin.principal, page: { limit: 4, cursor: bad } },
          soon(),
        ),
      ).rejects.toMatchObject({ code: 'invalid_request' });
    }
  });
});

describe('creating', () => {
  test('two agents of one name at once makes one and a conflict', async () => {
    const ann = await world.user({ name: 'ann', role: 'member' });
    const request = { principal: ann.principal, body: { name: 'bot' }, context };

    const outcomes = await Promise.all(
      Array.from({ length: 8 }, () => outcomeOf(world.client.createAgent(request, soon()))),
    );

    expect(outcomes.filter((outcome) => outcome === 'ok')).toHaveLength(1);
    expect(outcomes.filter((outcome) => outcome === 'conflict')).toHaveLength(7);
  });

  test('gives the name of a revoked agent and of an expired subagent to the next one', async () => {
    const { client, db } = world;
    const ann = await world.user({ name: 'ann', role: 'member' });
    const first = await world.agent(ann, 'bot');
    await client.revokeIdentity({ principal: ann.principal, id: first.id, context }, soon());
    const bot = await world.agent(ann, 'bot');
    const sub = await world.subagent(bot, 'sub');

    await expect(world.subagent(bot, 'sub')).rejects.toMatchObject({ code: 'conflict' });
    await db`update auth.identity set expires_at = now() where id = ${sub.id}`;
    const next = await world.subagent(bot, 'sub');

    expect(next.id).not.toBe(sub.id);
  });

  test('a subagent keeps what was asked for', async () => {
    const ann = await world.user({ name: 'ann', role: 'member' });
    const bot = await world.agent(ann, 'bot');
    const body = { name: 'helper', inherit_permissions: true, ttl: '1d12h' };

    const made = await world.client.createSubagent(
      { principal: bot.principal, body, context },
      soon(),
    );

    expect(made).toMatchObject({
      kind: 'subagent',
      parent_id: bot.id,
      owner_id: ann.id,
      depth: 2,
      path: ['ann', 'bot', 'helper'],
      inherit_permissions: true,
      auto_call_on_approve: true,
      status: 'active',
    });
    const livesMs = Date.parse(made.expires_at ?? '') - Date.parse(made.created_at);
    expect(livesMs).toBe(36 * 3_600_000);
  });

  test.for([
    [{ name: 'x', ttl: '1w' }, 'invalid_params'],
    [{ name: 'x', ttl: '0s' }, 'invalid_params'],
    [{ name: 'x', ttl: '366d' }, 'invalid_params'],
    [{ name: 'X' }, 'invalid_request'],
    [{ name: 'org' }, 'invalid_request'],
    [{ name: 'x', parent_id: 'x' }, 'invalid_request'],
    [{ name: 'x', extra: 1 }, 'invalid_request'],
    [{ name: 'x', parent_id: '0198c0de-0000-7000-8000-000000000000' }, 'not_found'],
  ] as const)('a subagent from %j: %s', async ([body, code]) => {
    const ann = await world.user({ name: 'ann', role: 'member' });
    const bot = await world.agent(ann, 'bot');

    await expect(
      world.client.createSubagent({ principal: bot.principal, body, context }, soon()),
    ).rejects.toMatchObject({ code });
  });

  test('ends at eight levels', async () => {
    const ann = await world.user({ name: 'ann', role: 'member' });
    let last = await world.agent(ann, 'bot');
    for (let depth = 2; depth <= 8; depth += 1) last = await world.subagent(last, 'sub');

    expect(last.claims.chain).toHaveLength(9);
    await expect(world.subagent(last, 'sub')).rejects.toMatchObject({ code: 'conflict' });
  });

  test('ends at 64 live subagents below one agent, however many ask at once', async () => {
    const { client } = world;
    const ann = await world.user({ name: 'ann', role: 'member' });
    const bot = await world.agent(ann, 'bot');

    const outcomes = await Promise.all(
      Array.from({ length: 70 }, (_, i) =>
        outcomeOf(
          client.createSubagent(
            { principal: bot.principal, body: { name: `s${i}` }, context },
            soon(),
          ),
        ),
      ),
    );

    expect(outcomes.filter((outcome) => outcome === 'ok')).toHaveLength(64);
    expect(outcomes.filter((outcome) => outcome === 'conflict')).toHaveLength(6);
    await world.subagent(await world.agent(ann, 'other'), 'unaffected');
  });
});
