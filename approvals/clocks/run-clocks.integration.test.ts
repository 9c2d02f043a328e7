import { v7 as uuidv7 } from 'uuid';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test, vi } from 'vitest';

import { createEvent } from '#events';
import { createWorld } from '../world.testing.ts';
import type { World } from '../world.testing.ts';

let world: World;
beforeAll(async () => {
  world = await createWorld({ replicas: 2 });
});
afterAll(() => world[Symbol.asyncDispose]());
beforeEach(async () => {
  await world.clear();
  world.bot.active = true;
  world.neighbours.asked.length = 0;
});

const eventTypesOf = async (id: string) => (await world.eventsOf(id)).map((event) => event.type);

describe('two replicas that apply the time limits of approvals', () => {
  test('expire each undecided approval once, and erase its call', async () => {
    const { sql, suspend, until, eventsOf } = world;
    const ids: string[] = [];
    for (const who of [world.helper, world.sibling, world.bobsBot]) {
      for (let index = 0; index < 15; index += 1)
        ids.push(await suspend(who, { arg: `acme/${index}` }));
    }
    await sql`update approvals.approval set expires_at = now()`;
    await until(
      () => sql`select id from approvals.approval where status <> 'expired'`,
      (rows) => rows.length === 0,
    );

    for (const id of ids)
      expect(await eventTypesOf(id)).toEqual(['approval.raised', 'approval.resolved']);
    expect((await eventsOf(ids[0] ?? '')).at(-1)).toMatchObject({
      data: { status: 'expired', resolution: null, resolved_by: null },
      audit: { outcome: 'failed', error: 'expired', user_id: world.ann.id },
    });
    expect(
      await sql`select id from approvals.approval where sealed_call is not null or gap is not null`,
    ).toHaveLength(0);
  });

  test('expire each allowed call that was not run in time once; its approval stays allowed', async () => {
    const { ann, helper, sql, suspend, resolve, until, get } = world;
    const ids: string[] = [];
    for (let index = 0; index < 15; index += 1) {
      const id = await suspend(helper, { arg: `acme/${index}`, auto: false });
      await resolve(ann, id, { resolution: 'allow' });
      ids.push(id);
    }
    await sql`update approvals.execution set expires_at = now()`;
    await until(
      () => sql`select id from approvals.execution where status <> 'expired'`,
      (rows) => rows.length === 0,
    );

    for (const id of ids) {
      expect(await get(ann, id)).toMatchObject({
        status: 'allowed',
        execution: { status: 'expired' },
      });
      expect(await eventTypesOf(id)).toEqual([
        'approval.raised',
        'approval.resolved',
        'execution.finished',
      ]);
    }
    expect(world.neighbours.asked).toEqual([]);
  });

  test('hand up each approval that waited too long for its resolver once, at most to the user', async () => {
    const { ann, bot, helper, sql, suspend, until, get, eventsOf } = world;
    const ids: string[] = [];
    for (let index = 0; index < 15; index += 1)
      ids.push(await suspend(helper, { arg: `acme/${index}`, covering: [bot] }));
    await sql`update approvals.approval set bubble_at = now()`;
    await until(
      () => sql`select id from approvals.approval where status <> 'bubbled'`,
      (rows) => rows.length === 0,
    );

    for (const id of ids) {
      expect(await get(ann, id)).toMatchObject({ status: 'bubbled', resolver_id: ann.id });
      expect((await eventsOf(id)).slice(1)).toMatchObject([
        { type: 'approval.bubbled', data: { from: bot.id, to: ann.id, by: 'timer' } },
      ]);
    }
    expect(await sql`select id from approvals.approval where bubble_at is not null`).toHaveLength(
      0,
    );
  });

  test('do not hand up an approval that the user has to decide already', async () => {
    await world.suspend(world.bot);

    expect(await world.sql`select bubble_at from approvals.approval`).toEqual([
      { bubble_at: null },
    ]);
  });
});

describe('a replica whose clock is wrong by a day', () => {
  afterEach(() => {
    vi.useRealTimers();
  });

  test.for([
    ['ahead', 26],
    ['behind', -26],
  ] as const)(
    'expires no approval at a wrong time when its clock is %s, because the clock of Postgres counts',
    async ([, hours]) => {
      const { ann, helper, sql, suspend, resolve, until } = world;
      const [undecided, overdue, later] = [
        await suspend(helper, { arg: 'acme/undecided' }),
        await suspend(helper, { arg: 'acme/overdue' }),
        await suspend(helper, { arg: 'acme/later', auto: false }),
      ];
      vi.useFakeTimers({ toFake: ['Date'], now: Date.now() + hours * 3_600_000 });
      await sql`update approvals.approval set expires_at = now() where id = ${overdue}`;
      await until(
        () => sql`select id from approvals.approval where id = ${overdue} and status = 'expired'`,
        (rows) => rows.length === 1,
      );

      expect((await world.get(ann, undecided)).status).toBe('pending');
      const decision = { resolution: 'allow_remember', ttl: '2h' } as const;
      expect((await resolve(ann, later, decision)).status).toBe('allowed');
      const [row] = await sql<{ minutes: number; resolved: boolean }[]>`
      select extract(epoch from e.expires_at - now())::float / 60 as minutes,
             abs(extract(epoch from a.resolved_at - now())) < 60 as resolved
        from approvals.execution e
        join approvals.approval a on a.org_id = e.org_id and a.id = e.approval_id
       where a.id = ${later}
    `;
      expect(row?.resolved).toBe(true);
      expect(Math.round(row?.minutes ?? 0)).toBe(15);
    },
  );
});

describe('a revoked requester', () => {
  const waitUntilDeniedOnce = async (id: string) => {
    const approval = await world.until(
      () => world.get(world.ann, id),
      (each) => each.status === 'denied',
    );
    expect(approval).toMatchObject({
      reason: 'requester_revoked',
      resolved_by: null,
      resolution: null,
    });
    expect(await eventTypesOf(id)).toEqual(['approval.raised', 'approval.resolved']);
  };

  test('has its open approvals denied at once by its own event or that of an ancestor', async () => {
    const { ann, bot, helper, bobsBot, suspend, environment, get, bob } = world;
    const id = await suspend(helper);
    const others = await suspend(bobsBot);
    bot.active = false;
    const auth = await environment.connect('auth');
    const event = createEvent({
      type: 'identity.revoked',
      orgId: ann.orgId,
      audience: [ann.id, bot.id],
      data: { identity_id: bot.id, kind: 'agent', name: 'bot', revoked_ids: [bot.id, helper.id] },
      audit: null,
    });
    auth.nats.publish('evt.auth.identity.revoked', JSON.stringify(event));

    await waitUntilDeniedOnce(id);
    expect((await get(bob, others)).status).toBe('pending');
  });

  test('has its open approvals denied by the chain check when the event is lost', async () => {
    const { bot, helper, suspend, sql } = world;
    const id = await suspend(helper);
    bot.active = false;
    await sql`update approvals.approval set chain_checked_at = now() - interval '2 minutes'`;

    await waitUntilDeniedOnce(id);
  });

  test('is not assumed from a forged or malformed event, which denies no approval', async () => {
    const { ann, helper, suspend, environment, get, sql, until } = world;
    const id = await suspend(helper);
    const auth = await environment.connect('auth');
    auth.nats.publish('evt.auth.identity.revoked', 'not json');
    auth.nats.publish('evt.auth.identity.revoked', JSON.stringify({ id: uuidv7() }));
    const untrueEvent = createEvent({
      type: 'identity.revoked',
      orgId: ann.orgId,
      audience: [helper.id],
      data: { identity_id: helper.id },
      audit: null,
    });
    auth.nats.publish('evt.auth.identity.revoked', JSON.stringify(untrueEvent));
    await auth.nats.flush();
    // A chain check at this point finds the requester active, as the handler of the event did.
    await sql`update approvals.approval set chain_checked_at = now() - interval '2 minutes'`;
    await until(
      () =>
        sql`select id from approvals.approval where chain_checked_at > now() - interval '1 minute'`,
      (rows) => rows.length === 1,
    );

    expect((await get(ann, id)).status).toBe('pending');
  });
});

describe('a restart', () => {
  test('loses no call: the next process replays the calls that were allowed while no process was running', async () => {
    await using singleReplicaWorld = await createWorld({ replicas: 1 });
    const { helper, ann, suspend, resolve, neighbours, replicas, startReplica, until, sql } =
      singleReplicaWorld;
    const id = await suspend(helper, { auto: false });
    await resolve(ann, id, { resolution: 'allow' });
    const [first] = replicas;
    await first?.[Symbol.asyncDispose]();
    await sql`update approvals.execution set automatic = true`;
    await startReplica();
    await until(
      () => singleReplicaWorld.get(ann, id),
      (approval) => approval.execution?.status === 'executed',
    );

    expect(neighbours.asked).toHaveLength(1);
  });

  test('lets a stopping replica finish its running replay', async () => {
    await using singleReplicaWorld = await createWorld({ replicas: 1 });
    const { helper, ann, suspend, resolve, neighbours, replicas, sql, until } = singleReplicaWorld;
    let release: () => void = () => undefined;
    const released = new Promise<void>((resolve) => (release = resolve));
    neighbours.sends = async () => {
      await released;
      return { status_code: 200, headers: {}, body: null, duration_ms: 1 };
    };
    const id = await suspend(helper);
    await resolve(ann, id, { resolution: 'allow' });
    await until(
      async () => neighbours.asked.length,
      (count) => count === 1,
    );
    const stopping = replicas[0]?.[Symbol.asyncDispose]();
    release();
    await stopping;

    expect(await sql`select status from approvals.execution`).toEqual([{ status: 'executed' }]);
    expect(neighbours.asked).toHaveLength(1);
  });
});
