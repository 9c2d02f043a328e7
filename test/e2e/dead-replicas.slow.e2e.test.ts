import { setTimeout as sleep } from 'node:timers/promises';

import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';

import { startComponents } from '../../launch.ts';
import type { Reply } from '../support/http.ts';
import { startReplica } from '../support/replica.ts';
import { createAgent, successfulBodyOf, startWorld, pollUntil } from '../support/world.ts';
import type { Agent, World } from '../support/world.ts';

/**
 * All components run in this process, but call each other over NATS. The replica that a test kills
 * or stops runs in a process of its own. NATS divides the requests between the two at random.
 */
let world: World;
let agent: Agent;

beforeAll(async () => {
  world = await startWorld({}, (environment) =>
    startComponents(environment, { areCallsLocal: false }),
  );
  const { admin, upstream, url } = world;
  agent = await createAgent(url, admin, 'bot');
  for (const method of ['GET', 'POST']) {
    const pattern = `http:${method}:${upstream.host}/**`;
    successfulBodyOf(
      await admin.post('/v1/rules', { identity_id: agent.id, effect: 'allow', pattern }),
    );
  }
});
afterAll(() => world[Symbol.asyncDispose]());
beforeEach(() => {
  world.upstream.delayMs = 0;
});

let count = 0;

interface SentCall {
  readonly path: string;
  readonly method: 'GET' | 'POST';
  readonly reply: Promise<Reply>;
}

function sendCall(method: 'GET' | 'POST'): SentCall {
  const path = `/${method.toLowerCase()}/${(count += 1)}`;
  const body = method === 'POST' ? { n: count } : undefined;
  const call = { service: 'http', method, url: `${world.upstream.url}${path}`, body };
  return { path, method, reply: agent.post('/v1/actions/call', call) };
}

const sendCalls = (method: 'GET' | 'POST') => Array.from({ length: 12 }, () => sendCall(method));
const countHitsOf = ({ path }: SentCall) =>
  world.upstream.hits.filter(({ url }) => url === path).length;
const repliesOf = (calls: readonly SentCall[]) => Promise.all(calls.map(({ reply }) => reply));

/** Returns `called`, `outcome_unknown`, or the whole body of another error. */
const outcomeOf = ({ body }: Reply): string =>
  body.status ?? (body.error === 'outcome_unknown' ? body.error : JSON.stringify(body));

/** Returns how many outcomes the audit log has for each of the answered calls. */
async function countOutcomes(replies: readonly Reply[]): Promise<number[]> {
  const ids = replies.map(({ body }) => body.audit_id as string);
  const rows = await world.tables.query(
    `select call_id, count(*) as n from audit.record
      where type = 'action.outcome' and call_id = any($1::uuid[]) group by call_id`,
    [ids],
  );
  return ids.map((id) => Number(rows.find((row) => row.call_id === id)?.n ?? 0));
}

const untilRecorded = (replies: readonly Reply[]) =>
  pollUntil(async () => !(await countOutcomes(replies)).includes(0), 'the records of the calls');

describe('a killed executor', () => {
  test('has its reads repeated; its non-reads are sent only once, and end as called or as unknown', async () => {
    await using executor = await startReplica(world, 'executor');
    world.upstream.delayMs = 5_000;
    const [reads, writes] = [sendCalls('GET'), sendCalls('POST')];
    await pollUntil(
      () => [...reads, ...writes].every((call) => countHitsOf(call) > 0),
      'every call',
    );

    world.upstream.delayMs = 0;
    await executor.kill();
    const killedAt = performance.now();
    const readReplies = await repliesOf(reads);
    const readMs = performance.now() - killedAt;
    const writeReplies = await repliesOf(writes);

    expect(readReplies.map(outcomeOf)).toEqual(reads.map(() => 'called'));
    // This takes two seconds if the machine is not busy.
    expect(readMs).toBeLessThan(10_000);
    expect(reads.some((call) => countHitsOf(call) === 2)).toBe(true);
    expect(Math.max(...reads.map(countHitsOf))).toBe(2);
    await untilRecorded(readReplies);
    expect(await countOutcomes(readReplies)).toEqual(reads.map(() => 1));

    expect(writes.map(countHitsOf)).toEqual(writes.map(() => 1));
    expect(new Set(writeReplies.map(outcomeOf))).toEqual(new Set(['called', 'outcome_unknown']));
  });
});

describe('an executor that hangs', () => {
  test('sends no non-read twice if it hangs during calls, and then answers the calls', async () => {
    await using executor = await startReplica(world, 'executor');
    world.upstream.delayMs = 2_000;
    const [reads, writes] = [sendCalls('GET'), sendCalls('POST')];
    await pollUntil(
      () => [...reads, ...writes].every((call) => countHitsOf(call) > 0),
      'every call',
    );

    executor.signal('SIGSTOP');
    await sleep(2_000);
    executor.signal('SIGCONT');
    const replies = await repliesOf([...reads, ...writes]);

    expect(replies.map(outcomeOf)).toEqual(replies.map(() => 'called'));
    expect(writes.map(countHitsOf)).toEqual(writes.map(() => 1));
    // Disposing lets the executor finish and record the calls that it is handling.
    await executor[Symbol.asyncDispose]();
    // Records are stored in order, so the record of a later call shows that the earlier ones are
    // stored.
    await untilRecorded([await sendCall('GET').reply]);
    expect(await countOutcomes(replies)).toEqual(replies.map(() => 1));
  });

  test('sends no call that another executor was asked to send instead, if it hangs before it takes the call', async () => {
    await using executor = await startReplica(world, 'executor');
    executor.signal('SIGSTOP');
    const writes = sendCalls('POST');
    await sleep(2_200);
    executor.signal('SIGCONT');
    const outcomes = (await repliesOf(writes)).map(outcomeOf);
    await executor[Symbol.asyncDispose]();

    expect(outcomes).toContain('called');
    // On a busy machine the other executor may be considered dead as well.
    expect(outcomes.filter((outcome) => !/^(called|outcome_unknown)$/.test(outcome))).toEqual([]);
    const hits = writes.map(countHitsOf);
    expect(Math.max(...hits)).toBe(1);
    expect(hits.filter((hit, index) => hit === 0 && outcomes[index] === 'called')).toEqual([]);
  });
});

test('killed replicas of policy, auth and registry delay calls, but no call fails', async () => {
  await using stack = new AsyncDisposableStack();
  const components = ['policy', 'auth', 'registry'] as const;
  const replicas = await Promise.all(
    components.map(async (component) => stack.use(await startReplica(world, component))),
  );
  let slowestMs = 0;
  let isOver = false;
  const outcomes: string[] = [];
  const callOn = async () => {
    while (!isOver) {
      const startedAt = performance.now();
      const reply = await sendCall('GET').reply;
      slowestMs = Math.max(slowestMs, performance.now() - startedAt);
      outcomes.push(outcomeOf(reply));
    }
  };
  const backgroundCalls = Promise.all(Array.from({ length: 8 }, callOn));
  // Stopped replicas still receive their share of the requests. These requests are lost when the
  // replicas are killed.
  await sleep(500);
  for (const replica of replicas) replica.signal('SIGSTOP');
  await sleep(600);
  await Promise.all(replicas.map((replica) => replica.kill()));
  isOver = true;
  await backgroundCalls;

  expect(outcomes.filter((outcome) => outcome !== 'called')).toEqual([]);
  // This takes two seconds if the machine is not busy.
  expect(slowestMs).toBeLessThan(10_000);
  expect(slowestMs).toBeGreaterThan(900);
});
