import { v7 as uuidv7 } from 'uuid';
import { afterAll, beforeAll, beforeEach, describe, expect, onTestFinished, test } from 'vitest';

import { createSigner, digestOf } from '#signing';
import { createWorld, testDeadline } from '../world.testing.ts';
import type { World } from '../world.testing.ts';

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

describe('raising an approval', () => {
  test('suspends the call and announces the approval', async () => {
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
      service_title: 'GitHub',
      title_mac: `key:${'t'.repeat(43)}`,
      template: 'github',
      action: 'issues.create',
      resolved_at: null,
    });
    expect(approval).not.toHaveProperty('execution');
    // A text that a jsonb column would refuse is stored unchanged.
    expect(approval.disclosed[0]?.value).toBe('NUL \0 and \ud800');
    expect(Date.parse(approval.expires_at) - Date.parse(approval.created_at)).toBe(86_400_000);

    const [event, ...others] = await eventsOf(id);
    // The event contains the whole request, for webhooks. The audit entry contains only its
    // headers, content type and credentials.
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
    ['the nearest ancestor whose authority covers the call', ['bot'], 300, 'bot'],
    ['the user when the authority of no other ancestor covers the call', [], 300, 'ann'],
    ['the user when auto_bubble_seconds of the org is 0', ['bot'], 0, 'ann'],
  ])('first asks %s', async ([, covering, autoBubbleSeconds, resolver]) => {
    world.neighbours.settings.autoBubbleSeconds = autoBubbleSeconds;
    // Waits until the settings, which are cached for a second, are read again.
    await new Promise((resolve) => setTimeout(resolve, 1_100));
    const id = await world.suspend(world.helper, { covering: covering.map((name) => world[name]) });

    expect((await world.get(world.ann, id)).resolver_id).toBe(world[resolver].id);
  });

  test('needs a recent and genuine permission gap for exactly this call of the caller', async () => {
    const { helper, bot, raiseRequest, client, as, environment } = world;
    const genuine = raiseRequest(helper);
    const forger = createSigner('gap', 'x'.repeat(43));
    const otherPurpose = createSigner('permit', ...environment.keys.gap);
    const refusedRequests = [
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
    for (const request of refusedRequests) {
      await expect(client.raise(request, testDeadline())).rejects.toMatchObject({
        code: 'unauthenticated',
      });
    }
    expect(await world.sql`select id from approvals.approval`).toHaveLength(0);
  });

  test('happens once, with one event, for 20 identical concurrent calls', async () => {
    const { helper, raise, eventsOf } = world;
    const states = await Promise.all(Array.from({ length: 20 }, () => raise(helper)));
    const ids = new Set(
      states.map((state) => (state.kind === 'pending' ? state.envelope.approval_id : state.kind)),
    );

    expect(ids.size).toBe(1);
    const [id = ''] = ids;
    expect((await eventsOf(id)).map((event) => event.type)).toEqual(['approval.raised']);
  });

  test('happens again when another requester makes the same call', async () => {
    expect(await world.suspend(world.helper)).not.toBe(await world.suspend(world.sibling));
  });

  test('does not happen within ten minutes after a denial of the same call; the denial is returned again', async () => {
    const { helper, ann, raise, suspend, resolve, sql } = world;
    const id = await suspend(helper);
    await resolve(ann, id, { resolution: 'deny', reason: 'not now' });

    expect(await raise(helper)).toEqual({ kind: 'denied', reason: 'not now', approvalId: id });
    await sql`update approvals.approval set resolved_at = now() - interval '11 minutes' where id = ${id}`;
    expect(await suspend(helper)).not.toBe(id);
  });

  test('happens again immediately after the same call was cancelled', async () => {
    const id = await world.suspend(world.helper);
    await world.cancel(world.helper, id);

    expect(await world.suspend(world.helper)).not.toBe(id);
  });

  test('does not happen for a call that is allowed but has not run; its pending approval is returned', async () => {
    const { helper, ann, suspend, resolve, raise } = world;
    const id = await suspend(helper, { auto: false });
    await resolve(ann, id, { resolution: 'allow' });

    expect(await raise(helper, { auto: false })).toMatchObject({
      kind: 'pending',
      envelope: { approval_id: id },
    });
  });

  test('is possible when an approval of the same call is still pending after its time limit', async () => {
    const { helper, suspend, sql, eventsOf } = world;
    const id = await suspend(helper);
    await sql`update approvals.approval set expires_at = now() where id = ${id}`;

    expect(await suspend(helper)).not.toBe(id);
    expect((await eventsOf(id)).at(-1)).toMatchObject({
      type: 'approval.resolved',
      data: { status: 'expired' },
    });
  });

  test('stays within the limit of a requester when many calls arrive at once', async () => {
    const { helper, raise, sql } = world;
    const settled = await Promise.allSettled(
      Array.from({ length: 40 }, (_, index) => raise(helper, { arg: `acme/${index}` })),
    );
    const refusedOutcomes = settled
      .filter((each) => each.status === 'rejected')
      .map((each) => each.reason as unknown);

    expect(refusedOutcomes).toHaveLength(20);
    for (const reason of refusedOutcomes) {
      expect(reason).toMatchObject({
        code: 'too_many_open_approvals',
        details: { retry_after: 60, open: 20 },
      });
    }
    const [row] = await sql`select count(*)::int as open from approvals.approval`;
    expect(row?.['open']).toBe(20);
  });

  test('stays within the common limit of an agent and its descendants', async () => {
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

  test('is possible again for a requester at its limit after one of its approvals is decided', async () => {
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

  describe('raising and cancelling in a loop', () => {
    const perHourVariables = { variables: { APPROVALS_RAISED_PER_HOUR: '200' } };
    /**
     * Raises and cancels approvals until a request is refused; returns their number and the
     * refusal.
     */
    const raiseUntilRefused = async (
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

    test('is refused when the hourly share of a user is used up, while other users can still raise approvals', async () => {
      await using small = await createWorld(perHourVariables);
      const { bot, helper, sibling, bobsBot, raise, sql, neighbours } = small;

      const first = await raiseUntilRefused(small, helper);
      expect(first.times).toBeLessThanOrEqual(20);
      expect(first.times).toBeGreaterThan(15);
      expect(first.error).toMatchObject({
        code: 'rate_limited',
        details: { raised_in_hour: first.times, retry_after: expect.any(Number) },
      });
      const previews = neighbours.previews;
      await expect(raise(helper, { arg: 'again' })).rejects.toMatchObject({ code: 'rate_limited' });
      expect(neighbours.previews).toBe(previews);

      // The parent agent and a sibling may use the rest of the share; the agent of another user
      // has its whole share.
      await expect(raise(bot)).resolves.toMatchObject({ kind: 'pending' });
      await expect(raise(sibling)).resolves.toMatchObject({ kind: 'pending' });
      const other = await raiseUntilRefused(small, bobsBot);
      expect(other.times).toBeGreaterThan(12);

      await sql`update approvals.approval set created_at = now() - interval '1 hour'`;
      await expect(raise(helper, { arg: 'later' })).resolves.toMatchObject({ kind: 'pending' });
    });

    test('leaves the other agents of the user their share, even if one agent uses many subagents', async () => {
      await using small = await createWorld(perHourVariables);
      const { bot, helper, sibling, sql } = small;
      let all = 0;
      for (const who of [bot, helper, sibling]) all += (await raiseUntilRefused(small, who)).times;

      expect(all).toBeLessThanOrEqual(26);
      const [row] = await sql`select count(*)::int as raised from approvals.approval`;
      expect(row?.['raised']).toBe(all);
    });
  });

  test('needs no preview from the executor when the call exceeds a limit', async () => {
    const { helper, suspend, raise, neighbours } = world;
    for (let index = 0; index < 20; index += 1) await suspend(helper, { arg: `acme/${index}` });
    const previewsBefore = neighbours.previews;
    await Promise.allSettled(
      Array.from({ length: 20 }, (_, index) => raise(helper, { arg: `more/${index}` })),
    );

    expect(neighbours.previews).toBe(previewsBefore);
  });
});

describe('raising an approval with an idempotency key', () => {
  test('returns the current state of the approval when the key is repeated', async () => {
    const { helper, ann, raise, suspend, resolve, sql } = world;
    const id = await suspend(helper, { idempotencyKey: 'k1' });
    await resolve(ann, id, { resolution: 'deny', reason: 'no' });
    // A denial is repeated for ten minutes. After that, only the idempotency key still identifies
    // the call.
    await sql`update approvals.approval set resolved_at = now() - interval '1 hour' where id = ${id}`;

    expect(await raise(helper, { idempotencyKey: 'k1' })).toEqual({
      kind: 'denied',
      reason: 'no',
      approvalId: id,
    });
  });

  test('happens once for ten concurrent calls with the same key', async () => {
    const { helper, raise } = world;
    const states = await Promise.all(
      Array.from({ length: 10 }, () => raise(helper, { idempotencyKey: 'k2' })),
    );

    expect(
      new Set(states.map((state) => (state.kind === 'pending' ? state.envelope.approval_id : '')))
        .size,
    ).toBe(1);
  });

  test('happens under the original id when the approval of the key was never stored', async () => {
    const id = uuidv7();
    world.neighbours.keys.set('k3', id);

    expect(await world.suspend(world.helper, { idempotencyKey: 'k3' })).toBe(id);
  });

  describe('for a call that joins the open approval of an identical call', () => {
    const age = (id: string) =>
      world.sql`update approvals.approval set resolved_at = now() - interval '1 hour' where id = ${id}`;

    test('returns the current state of that approval when the key is repeated later', async () => {
      const { helper, ann, raise, suspend, resolve } = world;
      const id = await suspend(helper, { arg: 'joined' });
      expect(await suspend(helper, { arg: 'joined', idempotencyKey: 'j1' })).toBe(id);
      await resolve(ann, id, { resolution: 'deny', reason: 'no' });
      await age(id);

      expect(await raise(helper, { arg: 'joined', idempotencyKey: 'j1' })).toEqual({
        kind: 'denied',
        reason: 'no',
        approvalId: id,
      });
      expect(await suspend(helper, { arg: 'joined' })).not.toBe(id);
    });

    test('does not use up a key that comes within ten minutes after the denial', async () => {
      const { helper, ann, raise, suspend, resolve } = world;
      const id = await suspend(helper, { arg: 'denied' });
      await resolve(ann, id, { resolution: 'deny', reason: 'no' });
      const call = { arg: 'denied', idempotencyKey: 'another attempt' };
      expect(await raise(helper, call)).toMatchObject({ kind: 'denied', approvalId: id });
      await age(id);

      expect(await suspend(helper, call)).not.toBe(id);
    });

    test('returns the approval of its first use, also while an identical call is denied', async () => {
      const { helper, ann, raise, suspend, resolve } = world;
      const first = { arg: 'first use', idempotencyKey: 'first' };
      const firstId = await suspend(helper, first);
      await resolve(ann, firstId, { resolution: 'deny', reason: 'first' });
      await age(firstId);
      const laterId = await suspend(helper, { arg: 'first use' });
      await resolve(ann, laterId, { resolution: 'deny', reason: 'later' });

      expect(await raise(helper, first)).toMatchObject({ kind: 'denied', approvalId: firstId });
    });

    test('holds for concurrent calls with different and with repeated keys, and one without', async () => {
      const { helper, ann, raise, resolve, neighbours } = world;
      const keys = Array.from({ length: 10 }, (_, index) => `together-${index % 5}`);
      const raiseAll = () =>
        Promise.all(keys.map((idempotencyKey) => raise(helper, { arg: 'all', idempotencyKey })));
      const ids = new Set(
        (await Promise.all([raise(helper, { arg: 'all' }), raiseAll()]))
          .flat()
          .map((state) => (state.kind === 'pending' ? state.envelope.approval_id : '')),
      );
      expect(ids.size).toBe(1);
      const [id = ''] = ids;
      expect(keys.map((key) => neighbours.keys.get(key))).toEqual(keys.map(() => id));
      await resolve(ann, id, { resolution: 'deny', reason: 'no' });
      await age(id);

      expect(new Set((await raiseAll()).map((state) => JSON.stringify(state))).size).toBe(1);
    });

    test('takes the key from an approval that was prepared and never stored', async () => {
      const { helper, suspend, neighbours } = world;
      neighbours.keys.set('j2', uuidv7());
      const id = await suspend(helper, { arg: 'unstored' });

      expect(await suspend(helper, { arg: 'unstored', idempotencyKey: 'j2' })).toBe(id);
      expect(neighbours.keys.get('j2')).toBe(id);
    });

    test('returns the earlier approval whose key it repeats', async () => {
      const { helper, ann, raise, suspend, resolve } = world;
      const id = await suspend(helper, { arg: 'earlier', idempotencyKey: 'j3' });
      await resolve(ann, id, { resolution: 'deny', reason: 'earlier' });
      await age(id);
      const openId = await suspend(helper, { arg: 'earlier' });

      const repeated = await raise(helper, { arg: 'earlier', idempotencyKey: 'j3' });
      expect(repeated).toMatchObject({ kind: 'denied', approvalId: id });
      expect(openId).not.toBe(id);
    });

    test('returns the open approval also while executors run that do not know joining calls', async () => {
      const { helper, suspend, neighbours } = world;
      const id = await suspend(helper, { arg: 'skew' });
      neighbours.knowsJoining = false;
      onTestFinished(() => {
        neighbours.knowsJoining = true;
      });
      neighbours.keys.set('unstored', uuidv7());

      for (const idempotencyKey of ['j4', 'unstored']) {
        expect(await suspend(helper, { arg: 'skew', idempotencyKey })).toBe(id);
      }
    });
  });

  test('returns only an approval of the requester itself', async () => {
    const { helper, bobsBot, suspend, raise } = world;
    await suspend(helper, { idempotencyKey: 'k4' });

    await expect(raise(bobsBot, { idempotencyKey: 'k4' })).rejects.toMatchObject({
      code: 'conflict',
    });
  });
});
