import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';

import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';

import { createOrg } from './support/people.ts';
import type { Person } from './support/people.ts';
import { templateDocument } from './support/template.ts';
import { createAgent, created, startWorld, until } from './support/world.ts';
import type { Agent, World } from './support/world.ts';

/** An upstream that takes requests and never answers. */
async function startHole() {
  let hits = 0;
  const server = createServer(() => {
    hits += 1;
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    host: `127.0.0.1:${(server.address() as AddressInfo).port}`,
    hits: () => hits,
    [Symbol.dispose]() {
      server.close();
      server.closeAllConnections();
    },
  };
}
type Hole = Awaited<ReturnType<typeof startHole>>;

/** Calls that hang until they are ended; what became of those that did not is told by their statuses. */
function hang(agents: readonly Agent[], url: string, bodies: readonly object[]) {
  const ended = new AbortController();
  const refusals: { status: number; retryAfter: string | null; error: string }[] = [];
  const calls = bodies.flatMap((body) =>
    agents.map(async ({ key }) => {
      const reply = await fetch(`${url}/v1/actions/call`, {
        method: 'POST',
        headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
        body: JSON.stringify({ ...body, timeout_ms: 110_000 }),
        signal: ended.signal,
      });
      const { error } = (await reply.json()) as { error: string };
      refusals.push({ status: reply.status, retryAfter: reply.headers.get('retry-after'), error });
    }),
  );
  const settled = Promise.allSettled(calls);
  return {
    asked: calls.length,
    refusals,
    async [Symbol.asyncDispose]() {
      ended.abort();
      await settled;
    },
  };
}

describe('while calls of one caller hang', () => {
  let world: World;
  let mia: Person;
  let bob: Person;
  let eve: Person;
  let holes: Hole[] = [];
  const stack = new AsyncDisposableStack();

  beforeAll(async () => {
    world = stack.use(await startWorld({ EGRESS_ALLOW: '127.0.0.0/8' }));
    const { orgId } = world.admin;
    const otherOrg = await createOrg(world.tables.query);
    mia = await world.person({ orgId, name: 'mia', role: 'member' });
    bob = await world.person({ orgId, name: 'bob', role: 'member' });
    eve = await world.person({ orgId: otherOrg, name: 'eve', role: 'admin' });
  });
  afterEach(async () => {
    for (const hole of holes) hole[Symbol.dispose]();
    holes = [];
    // Slots are free again when the executor has seen its calls end.
    await until(async () => {
      const { body } = await world.admin.get('/v1/status');
      return body.status === 'ok';
    }, 'the executor is idle again');
  });
  afterAll(() => stack.disposeAsync());

  const hole = async () => {
    const made = await startHole();
    holes.push(made);
    return made;
  };
  const reading = async (owner: Person, name: string): Promise<Agent> => {
    const agent = await createAgent(world.url, owner, name);
    const rule = { identity_id: agent.id, effect: 'allow', pattern: 'http:GET:**' };
    created(await owner.post('/v1/rules', rule));
    return agent;
  };
  const rawGet = (host: string) => ({ service: 'http', method: 'GET', path: `http://${host}/x` });
  /** Twenty at a time, three times: how each of them ended. */
  const callWell = async (agent: Agent) => {
    const replies: string[] = [];
    for (let round = 0; round < 3; round += 1) {
      const all = await Promise.all(
        Array.from({ length: 8 }, () =>
          agent.post('/v1/actions/call', rawGet(world.upstream.host)),
        ),
      );
      replies.push(...all.map(({ status, body }) => `${status} ${body.status ?? body.error}`));
    }
    return replies;
  };
  const allCalled = Array.from({ length: 24 }, () => '200 called');
  /** Until each call hangs at an upstream or was refused. */
  const untilAllHang = ({ asked, refusals }: ReturnType<typeof hang>) =>
    until(
      () => refusals.length + holes.reduce((sum, each) => sum + each.hits(), 0) >= asked,
      'every call hangs or was refused',
    );

  test('300 of one agent, nobody else is refused, and the agent learns why it is', async () => {
    const hog = await reading(mia, 'hog');
    const [sibling, bobs, eves] = [
      await reading(mia, 'sibling'),
      await reading(bob, 'bobs'),
      await reading(eve, 'eves'),
    ];
    const [first, second] = [await hole(), await hole()];
    const bodies = Array.from({ length: 300 }, (_, n) => rawGet((n < 240 ? first : second).host));
    await using hanging = hang([hog], world.url, bodies);
    await untilAllHang(hanging);

    expect(first.hits() + second.hits()).toBeGreaterThan(110);
    expect(hanging.refusals.length).toBeGreaterThan(150);
    for (const refusal of hanging.refusals) {
      expect(refusal).toEqual({ status: 429, retryAfter: '5', error: 'rate_limited' });
    }
    for (const other of [sibling, bobs, eves]) expect(await callWell(other)).toEqual(allCalled);
    const { body } = await world.admin.get('/v1/status');
    expect(body).toMatchObject({ status: 'ok', components: { executor: { status: 'ok' } } });
  });

  test('to an upstream of its own, by reads that no rule allows, nobody else is refused', async () => {
    const own = await hole();
    const openapi = templateDocument('blackhole', `http://${own.host}`).replace(
      /components:[^]*$/,
      '',
    );
    created(await mia.post('/v1/templates', { openapi, tier: 'user' }));
    created(await mia.post('/v1/templates/blackhole/publish', { version: 1 }));
    created(await mia.post('/v1/services', { template: 'blackhole', tier: 'user' }));
    const hog = await createAgent(world.url, mia, 'tenant');
    const body = { service: 'blackhole', action: 'list_notes', params: {} };
    await using hanging = hang(
      [hog],
      world.url,
      Array.from({ length: 300 }, () => body),
    );
    await untilAllHang(hanging);

    expect(own.hits()).toBeGreaterThan(100);
    expect(new Set(hanging.refusals.map(({ error }) => error))).toEqual(new Set(['rate_limited']));
    for (const [owner, name] of [
      [bob, 'bobs-two'],
      [eve, 'eves-two'],
    ] as const) {
      expect(await callWell(await reading(owner, name))).toEqual(allCalled);
    }
  });

  test('and nine others of its org do the same, no other org is refused', async () => {
    const hogs: Agent[] = [];
    for (let n = 0; n < 10; n += 1) {
      const person = await world.person({ orgId: bob.orgId, name: `p${n}`, role: 'member' });
      hogs.push(await reading(person, `hog-${n}`));
    }
    const eves = await reading(eve, 'eves-three');
    const own = await hole();
    const other = await hole();
    const bodies = Array.from({ length: 30 }, (_, n) => rawGet((n % 2 ? own : other).host));
    await using hanging = hang(hogs, world.url, bodies);
    await untilAllHang(hanging);

    expect(own.hits() + other.hits()).toBeGreaterThan(170);
    expect(own.hits() + other.hits()).toBeLessThan(206);
    expect(await callWell(eves)).toEqual(allCalled);
  });
});
