import { v7 as uuidv7 } from 'uuid';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';

import { createSigner, digestOf } from '#signing';
import { createWorld, soon } from './world.testing.ts';
import type { World } from './world.testing.ts';

let world: World;
beforeAll(async () => {
  world = await createWorld();
});
afterAll(() => world[Symbol.asyncDispose]());
beforeEach(async () => {
  await world.clear();
  world.neighbours.keys.clear();
  world.neighbours.settings.autoBubbleSeconds = 300;
});

describe('raise', () => {
  test('suspends the call and tells who waits for what', async () => {
    const { helper, bot, ann, raise, get, eventsOf } = world;
    const state = await raise(helper, { covering: [bot] });

    expect(state).toMatchObject({
      kind: 'pending',
      envelope: {
        status: 'pending_approval',
        relationship: 'self',
        risk: 'med',
        auto_call_on_approve: true,
        permission_keys: ['github:issues.create:acme/site'],
      },
    });
    const id = state.kind === 'pending' ? state.envelope.approval_id : '';
    expect(state).toHaveProperty('envelope.approval_url', `https://gateway.test/approvals/${id}`);

    const approval = await get(helper, id);
    expect(approval).toMatchObject({
      status: 'pending',
      relationship: 'self',
      resolver_id: bot.id,
      may_resolve: [ann.id, bot.id],
      requester: {
        id: helper.id,
        kind: 'subagent',
        name: 'helper',
        path: ['ann', 'bot', 'helper'],
      },
      placement: { id: helper.id },
      service: 'github',
      template: 'github',
      action: 'issues.create',
      resolved_at: null,
    });
    expect(approval).not.toHaveProperty('execution');
    // What Postgres' jsonb would refuse is kept as it came.
    expect(approval.disclosed[0]?.value).toBe('NUL \0 and \ud800');
    expect(Date.parse(approval.expires_at) - Date.parse(approval.created_at)).toBe(86_400_000);

    const [event, ...others] = await eventsOf(id);
    // Webhooks get it with the event, and the audit log what no template discloses.
    expect(event?.data).toMatchObject({ request: approval.request });
    const { headers, content_type, credentials } = approval.request;
    expect(event?.audit?.request).toEqual({ headers, content_type, credentials });
    expect([headers, credentials]).toMatchObject([{ sudo: 'root' }, [{ account: 'ann' }]]);
    expect(others).toEqual([]);
    expect(event).toMatchObject({
      type: 'approval.raised',
      audience: [ann.id, bot.id, helper.id],
      data: {
        id,
        relationship: 'downstream',
        approval_url: `https://gateway.test/approvals/${id}`,
      },
      audit: {
        outcome: 'pending_approval',
        user_id: ann.id,
        identity: { id: helper.id },
        approval_id: id,
        request_id: 'req-1',
      },
    });
  });

  test.for<
    [
      rule: string,
      covering: ('helper' | 'bot')[],
      autoBubbleSeconds: number,
      resolver: 'ann' | 'bot',
    ]
  >([
    ['the nearest ancestor that covers', ['bot'], 300, 'bot'],
    ['otherwise the user', [], 300, 'ann'],
    ['straight to the user when the org wants that', ['bot'], 0, 'ann'],
  ])('asks %s', async ([, covering, autoBubbleSeconds, resolver]) => {
    world.neighbours.settings.autoBubbleSeconds = autoBubbleSeconds;
    // Settings are a second old at most.
    await new Promise((resolve) => setTimeout(resolve, 1_100));
    const id = await world.suspend(world.helper, { covering: covering.map((name) => world[name]) });

    expect((await world.get(world.ann, id)).resolver_id).toBe(world[resolver].id);
  });

  test('accepts only a fresh, genuine gap of the caller for this very call', async () => {
    const { helper, bot, raiseRequest, client, as, environment } = world;
    const genuine = raiseRequest(helper);
    const forger = createSigner('gap', 'x'.repeat(43));
    const otherPurpose = createSigner('permit', ...environment.keys.gap);
    const refused = [
      { ...genuine, gap: forger.sign({}) },
      {
        ...genuine,
        gap: otherPurpose.sign(
          JSON.parse(Buffer.from(genuine.gap.split('.')[0] ?? '', 'base64url').toString()),
        ),
      },
      { ...genuine, principal: as(bot) },
      { ...genuine, principal: as(helper, { orgId: uuidv7() }) },
      { ...genuine, principal: as(helper, { expiresAt: Date.now() - 2_000 }) },
      { ...genuine, call: { ...genuine.call, params: { repo: 'other' } } as typeof genuine.call },
      raiseRequest(helper, { change: { issuedAt: Date.now() - 11_000 } }),
      raiseRequest(helper, { change: { issuedAt: Date.now() + 5_000 } }),
      raiseRequest(helper, { change: { callDigest: digestOf('another call') } }),
    ];
    for (const request of refused) {
      await expect(client.raise(request, soon())).rejects.toMatchObject({
        code: 'unauthenticated',
      });
    }
    expect(await world.sql`select id from approvals.approval`).toHaveLength(0);
  });

  test('20 identical calls at once are one approval and one event', async () => {
    const { helper, raise, eventsOf } = world;
    const states = await Promise.all(Array.from({ length: 20 }, () => raise(helper)));
    const ids = new Set(
      states.map((state) => (state.kind === 'pending' ? state.envelope.approval_id : state.kind)),
    );

    expect(ids.size).toBe(1);
    const [id = ''] = ids;
    expect((await eventsOf(id)).map((event) => event.type)).toEqual(['approval.raised']);
  });

  test('the same call of another requester is another approval', async () => {
    expect(await world.suspend(world.helper)).not.toBe(await world.suspend(world.sibling));
  });

  test('a denial stands for ten minutes, then the call may be asked for again', async () => {
    const { helper, ann, raise, suspend, resolve, sql } = world;
    const id = await suspend(helper);
    await resolve(ann, id, { resolution: 'deny', reason: 'not now' });

    expect(await raise(helper)).toEqual({ kind: 'denied', reason: 'not now', approvalId: id });
    await sql`update approvals.approval set resolved_at = now() - interval '11 minutes' where id = ${id}`;
    expect(await suspend(helper)).not.toBe(id);
  });

  test("a cancelled call is nobody's decision: it may be asked for again at once", async () => {
    const id = await world.suspend(world.helper);
    await world.cancel(world.helper, id);

    expect(await world.suspend(world.helper)).not.toBe(id);
  });

  test('an allowed call that has not run yet is answered with its envelope', async () => {
    const { helper, ann, suspend, resolve, raise } = world;
    const id = await suspend(helper, { auto: false });
    await resolve(ann, id, { resolution: 'allow' });

    expect(await raise(helper, { auto: false })).toMatchObject({
      kind: 'pending',
      envelope: { approval_id: id },
    });
  });

  test('an overdue approval that no clock has moved yet is not in the way', async () => {
    const { helper, suspend, sql, eventsOf } = world;
    const id = await suspend(helper);
    await sql`update approvals.approval set expires_at = now() where id = ${id}`;

    expect(await suspend(helper)).not.toBe(id);
    expect((await eventsOf(id)).at(-1)).toMatchObject({
      type: 'approval.resolved',
      data: { status: 'expired' },
    });
  });

  test('keeps the limit of a requester, whatever is asked at once', async () => {
    const { helper, raise, sql } = world;
    const settled = await Promise.allSettled(
      Array.from({ length: 40 }, (_, index) => raise(helper, { arg: `acme/${index}` })),
    );
    const refused = settled
      .filter((each) => each.status === 'rejected')
      .map((each) => each.reason as unknown);

    expect(refused).toHaveLength(20);
    for (const reason of refused) {
      expect(reason).toMatchObject({
        code: 'too_many_open_approvals',
        details: { retry_after: 60, open: 20 },
      });
    }
    const [row] = await sql`select count(*)::int as open from approvals.approval`;
    expect(row?.['open']).toBe(20);
  });

  test("keeps the limit of an agent's subtree, whoever in it asks", async () => {
    await using small = await createWorld({ variables: { APPROVALS_OPEN_PER_SUBTREE: '5' } });
    const { bot, helper, sibling, bobsBot, raise } = small;
    const settled = await Promise.allSettled(
      [bot, helper, sibling].flatMap((who) =>
        Array.from({ length: 5 }, (_, index) => raise(who, { arg: `acme/${index}` })),
      ),
    );

    expect(settled.filter((each) => each.status === 'fulfilled')).toHaveLength(5);
    await expect(raise(bobsBot)).resolves.toMatchObject({ kind: 'pending' });
  });

  test('a place becomes free when one is decided', async () => {
    const { helper, ann, suspend, resolve, raise } = world;
    const ids = [];
    for (let index = 0; index < 20; index += 1)
      ids.push(await suspend(helper, { arg: `acme/${index}` }));
    await expect(raise(helper, { arg: 'one more' })).rejects.toMatchObject({
      code: 'too_many_open_approvals',
    });
    await resolve(ann, ids[0] ?? '', { resolution: 'deny' });

    await expect(raise(helper, { arg: 'one more' })).resolves.toMatchObject({ kind: 'pending' });
  });

  describe('and cancelled in a loop', () => {
    const perHour = { variables: { APPROVALS_RAISED_PER_HOUR: '200' } };
    /** Raises and cancels until it is refused; how often that worked, and with what it ended. */
    const loop = async (
      { raise, cancel }: Pick<World, 'raise' | 'cancel'>,
      who: Parameters<World['raise']>[0],
    ) => {
      for (let times = 0; ; times += 1) {
        try {
          const state = await raise(who, { arg: `acme/${times}` });
          if (state.kind !== 'pending') throw new Error(`it is ${state.kind}`);
          await cancel(who, state.envelope.approval_id);
        } catch (error) {
          return { times, error };
        }
      }
    };

    test('is refused when the share of the hour is used up, and others raise as before', async () => {
      await using small = await createWorld(perHour);
      const { bot, helper, sibling, bobsBot, raise, sql, neighbours } = small;

      const first = await loop(small, helper);
      expect(first.times).toBeLessThanOrEqual(20);
      expect(first.times).toBeGreaterThan(15);
      expect(first.error).toMatchObject({
        code: 'rate_limited',
        details: { raised_in_hour: first.times, retry_after: expect.any(Number) },
      });
      const previews = neighbours.previews;
      await expect(raise(helper, { arg: 'again' })).rejects.toMatchObject({ code: 'rate_limited' });
      expect(neighbours.previews).toBe(previews);

      // Its agent and a sibling have what it left, and another user's agent has as much as it had.
      await expect(raise(bot)).resolves.toMatchObject({ kind: 'pending' });
      await expect(raise(sibling)).resolves.toMatchObject({ kind: 'pending' });
      const other = await loop(small, bobsBot);
      expect(other.times).toBeGreaterThan(12);

      await sql`update approvals.approval set created_at = now() - interval '1 hour'`;
      await expect(raise(helper, { arg: 'later' })).resolves.toMatchObject({ kind: 'pending' });
    });

    test('leaves the other agents of its user their part, however many subagents help', async () => {
      await using small = await createWorld(perHour);
      const { bot, helper, sibling, sql } = small;
      let all = 0;
      for (const who of [bot, helper, sibling]) all += (await loop(small, who)).times;

      expect(all).toBeLessThanOrEqual(26);
      const [row] = await sql`select count(*)::int as raised from approvals.approval`;
      expect(row?.['raised']).toBe(all);
    });
  });

  test('nobody is asked to preview what a limit refuses anyway', async () => {
    const { helper, suspend, raise, neighbours } = world;
    for (let index = 0; index < 20; index += 1) await suspend(helper, { arg: `acme/${index}` });
    const before = neighbours.previews;
    await Promise.allSettled(
      Array.from({ length: 20 }, (_, index) => raise(helper, { arg: `more/${index}` })),
    );

    expect(neighbours.previews).toBe(before);
  });
});

describe('raise with an idempotency key', () => {
  test('the same key is answered with the present state of its approval', async () => {
    const { helper, ann, raise, suspend, resolve, sql } = world;
    const id = await suspend(helper, { idempotencyKey: 'k1' });
    await resolve(ann, id, { resolution: 'deny', reason: 'no' });
    // Beyond the ten minutes only the key remembers.
    await sql`update approvals.approval set resolved_at = now() - interval '1 hour' where id = ${id}`;

    expect(await raise(helper, { idempotencyKey: 'k1' })).toEqual({
      kind: 'denied',
      reason: 'no',
      approvalId: id,
    });
  });

  test('ten at once are one approval', async () => {
    const { helper, raise } = world;
    const states = await Promise.all(
      Array.from({ length: 10 }, () => raise(helper, { idempotencyKey: 'k2' })),
    );

    expect(
      new Set(states.map((state) => (state.kind === 'pending' ? state.envelope.approval_id : '')))
        .size,
    ).toBe(1);
  });

  test('a key whose approval was never stored is not lost: it is raised under that id', async () => {
    const id = uuidv7();
    world.neighbours.keys.set('k3', id);

    expect(await world.suspend(world.helper, { idempotencyKey: 'k3' })).toBe(id);
  });

  test("another requester's approval is never shown for a key", async () => {
    const { helper, bobsBot, suspend, raise } = world;
    await suspend(helper, { idempotencyKey: 'k4' });

    await expect(raise(bobsBot, { idempotencyKey: 'k4' })).rejects.toMatchObject({
      code: 'conflict',
    });
  });
});
