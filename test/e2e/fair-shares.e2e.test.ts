import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';

import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';

import { createOrg } from '../support/people.ts';
import type { Person } from '../support/people.ts';
import { templateDocument } from '../support/template.ts';
import { createAgent, successfulBodyOf, startWorld, pollUntil } from '../support/world.ts';
import type { Agent, World } from '../support/world.ts';

/** Starts an upstream that accepts requests and never answers them. */
async function startSilentUpstream() {
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
type SilentUpstream = Awaited<ReturnType<typeof startSilentUpstream>>;

/**
 * Starts calls that hang until they are aborted, and records the answers to the calls that the
 * gateway refuses.
 */
function startHangingCalls(agents: readonly Agent[], url: string, bodies: readonly object[]) {
  const abortController = new AbortController();
  const refusals: { status: number; retryAfter: string | null; error: string }[] = [];
  const calls = bodies.flatMap((body) =>
    agents.map(async ({ key }) => {
      const reply = await fetch(`${url}/v1/actions/call`, {
        method: 'POST',
        headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
        body: JSON.stringify({ ...body, timeout_ms: 110_000 }),
        signal: abortController.signal,
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
      abortController.abort();
      await settled;
    },
  };
}

describe('hanging calls of one agent', () => {
  let world: World;
  let mia: Person;
  let bob: Person;
  let eve: Person;
  let silentUpstreams: SilentUpstream[] = [];
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
    for (const hole of silentUpstreams) hole[Symbol.dispose]();
    silentUpstreams = [];
    // An aborted call uses one of the executor's slots until the executor notices that the call has
    // ended.
    await pollUntil(async () => {
      const { body } = await world.admin.get('/v1/status');
      return body.status === 'ok';
    }, 'the executor is idle again');
  });
  afterAll(() => stack.disposeAsync());

  const addSilentUpstream = async () => {
    const silentUpstream = await startSilentUpstream();
    silentUpstreams.push(silentUpstream);
    return silentUpstream;
  };
  const createReader = async (owner: Person, name: string): Promise<Agent> => {
    const agent = await createAgent(world.url, owner, name);
    const rule = { identity_id: agent.id, effect: 'allow', pattern: 'http:GET:**' };
    successfulBodyOf(await owner.post('/v1/rules', rule));
    return agent;
  };
  const createRawGet = (host: string) => ({
    service: 'http',
    method: 'GET',
    path: `http://${host}/x`,
  });
  /**
   * Makes 24 calls to the upstream that answers, eight at a time, and returns the result of each.
   */
  const callAnsweringUpstream = async (agent: Agent) => {
    const replies: string[] = [];
    for (let round = 0; round < 3; round += 1) {
      const roundReplies = await Promise.all(
        Array.from({ length: 8 }, () =>
          agent.post('/v1/actions/call', createRawGet(world.upstream.host)),
        ),
      );
      replies.push(
        ...roundReplies.map(({ status, body }) => `${status} ${body.status ?? body.error}`),
      );
    }
    return replies;
  };
  const allCalled = Array.from({ length: 24 }, () => '200 called');
  /** Waits until every call either hangs at an upstream or was refused. */
  const untilAllHang = ({ asked, refusals }: ReturnType<typeof startHangingCalls>) =>
    pollUntil(
      () => refusals.length + silentUpstreams.reduce((sum, each) => sum + each.hits(), 0) >= asked,
      'every call hangs or was refused',
    );

  test('are refused with a reason beyond the agent’s share; no call of another caller is refused', async () => {
    const hangingAgent = await createReader(mia, 'hog');
    const [sibling, bobs, eves] = [
      await createReader(mia, 'sibling'),
      await createReader(bob, 'bobs'),
      await createReader(eve, 'eves'),
    ];
    const [first, second] = [await addSilentUpstream(), await addSilentUpstream()];
    const bodies = Array.from({ length: 300 }, (_, n) =>
      createRawGet((n < 240 ? first : second).host),
    );
    await using hangingCalls = startHangingCalls([hangingAgent], world.url, bodies);
    await untilAllHang(hangingCalls);

    expect(first.hits() + second.hits()).toBeGreaterThan(110);
    expect(hangingCalls.refusals.length).toBeGreaterThan(150);
    for (const refusal of hangingCalls.refusals) {
      expect(refusal).toEqual({ status: 429, retryAfter: '5', error: 'rate_limited' });
    }
    for (const other of [sibling, bobs, eves])
      expect(await callAnsweringUpstream(other)).toEqual(allCalled);
    const { body } = await world.admin.get('/v1/status');
    expect(body).toMatchObject({ status: 'ok', components: { executor: { status: 'ok' } } });
  });

  test('do not cause refusals of other callers, also if they are reads at the agent’s own upstream that need no rule', async () => {
    const ownHole = await addSilentUpstream();
    const openapi = templateDocument('blackhole', `http://${ownHole.host}`).replace(
      /components:[^]*$/,
      '',
    );
    successfulBodyOf(await mia.post('/v1/templates', { openapi, tier: 'user' }));
    successfulBodyOf(await mia.post('/v1/templates/blackhole/publish', { version: 1 }));
    successfulBodyOf(await mia.post('/v1/services', { template: 'blackhole', tier: 'user' }));
    const hangingAgent = await createAgent(world.url, mia, 'tenant');
    const body = { service: 'blackhole', action: 'list_notes', params: {} };
    await using hangingCalls = startHangingCalls(
      [hangingAgent],
      world.url,
      Array.from({ length: 300 }, () => body),
    );
    await untilAllHang(hangingCalls);

    expect(ownHole.hits()).toBeGreaterThan(100);
    expect(new Set(hangingCalls.refusals.map(({ error }) => error))).toEqual(
      new Set(['rate_limited']),
    );
    for (const [owner, name] of [
      [bob, 'bobs-two'],
      [eve, 'eves-two'],
    ] as const) {
      expect(await callAnsweringUpstream(await createReader(owner, name))).toEqual(allCalled);
    }
  });

  test('do not cause refusals in other orgs, even together with hanging calls of nine other agents', async () => {
    const hangingAgents: Agent[] = [];
    for (let n = 0; n < 10; n += 1) {
      const person = await world.person({ orgId: bob.orgId, name: `p${n}`, role: 'member' });
      hangingAgents.push(await createReader(person, `hog-${n}`));
    }
    const eves = await createReader(eve, 'eves-three');
    const ownHole = await addSilentUpstream();
    const other = await addSilentUpstream();
    const bodies = Array.from({ length: 30 }, (_, n) =>
      createRawGet((n % 2 ? ownHole : other).host),
    );
    await using hangingCalls = startHangingCalls(hangingAgents, world.url, bodies);
    await untilAllHang(hangingCalls);

    expect(ownHole.hits() + other.hits()).toBeGreaterThan(170);
    expect(ownHole.hits() + other.hits()).toBeLessThan(206);
    expect(await callAnsweringUpstream(eves)).toEqual(allCalled);
  });
});
