/**
 * `npm run bench:hogs` measures how much one caller's hanging calls slow down other callers. It
 * measures the p99 latency of calls by another user and by another org. There are three states:
 * without hanging calls, during 300 hanging calls of one agent, and during 300 hanging calls of ten
 * agents of one org. The states are measured in turn, because the machine's speed varies.
 */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { Agent, request } from 'undici';

import { openTables } from '../support/database.ts';
import { createOrg, createPerson } from '../support/people.ts';
import { createAgent, successfulBodyOf } from '../support/world.ts';
import { startDistributed } from './gateway.ts';
import { medianOf } from './measure.ts';
import type { Target } from './measure.ts';
import { callAtSteadyRate } from './offer.ts';
import type { RateResult } from './offer.ts';
import { startProgram } from './processes.ts';

const rounds = 3;
const secondsPerRound = 8;
const callsPerSecond = 20;
const hangMs = (secondsPerRound + 3) * 1_000;
const loadStates = ['quiet', 'one', 'ten'] as const;
type LoadState = (typeof loadStates)[number];

await using running = new AsyncDisposableStack();
const dataDir = await mkdtemp(join(tmpdir(), 'aag-hogs-'));
running.defer(() => rm(dataDir, { recursive: true, force: true, maxRetries: 5 }));
const answeringUrl = await startUpstream(50);
const hangingUrl = await startUpstream(600_000);
const gateway = running.use(
  await startDistributed({
    dataDir,
    upstreamUrl: answeringUrl(0),
    environment: { EGRESS_ALLOW: '127.0.0.0/8', EXECUTOR_IN_FLIGHT_MAX: '256' },
  }),
);
const { url, adminUrl, orgId } = gateway;
const tables = running.use(await openTables(adminUrl));
const otherOrg = await createOrg(tables.query);

const hogKeys = await Promise.all(
  Array.from({ length: 10 }, (_, n) => createReaderKey(orgId, `hog${n}`)),
);
const otherCallers = [
  await createReaderKey(orgId, 'bob'),
  await createReaderKey(otherOrg, 'eve'),
].map((key) => callTargetOf(key, { path: answeringUrl(1) }));
const callersOfOtherOrgs = otherCallers.slice(1);

const resultsByState: Record<LoadState, RateResult[]> = { quiet: [], one: [], ten: [] };
await callAtSteadyRate(otherCallers, { perSecond: callsPerSecond, seconds: secondsPerRound });
for (let round = 0; round < rounds; round += 1) {
  for (const [at, state] of loadStates.entries()) {
    // Each state uses an upstream address that no earlier state has called, because the gateway may
    // have learnt that the earlier address hangs.
    const path = hangingUrl(2 + round * loadStates.length + at);
    const hogAgentKeys = { quiet: [], one: hogKeys.slice(0, 1), ten: hogKeys }[state];
    const hangingCalls = makeHangingCalls(hogAgentKeys, path);
    await new Promise((resolve) => setTimeout(resolve, 1_500));
    // The ten agents use up the limits of their own org. So the measurement is only about callers
    // of other orgs, who must not become slower.
    const targets = state === 'ten' ? callersOfOtherOrgs : otherCallers;
    resultsByState[state].push(
      await callAtSteadyRate(targets, { perSecond: callsPerSecond, seconds: secondsPerRound }),
    );
    const refusedCount = await hangingCalls;
    const { p99, failed } = resultsByState[state].at(-1) as RateResult;
    console.log(
      `${state}: p99 ${p99.toFixed(0)} ms, ${failed} failed; ${refusedCount} hanging calls refused`,
    );
  }
}

const p99 = (state: LoadState) => medianOf(resultsByState[state].map((each) => each.p99));
const failedCount = loadStates
  .flatMap((state) => resultsByState[state])
  .reduce((sum, each) => sum + each.failed, 0);
const ratios = { one: p99('one') / p99('quiet'), ten: p99('ten') / p99('quiet') };
console.log(
  `p99 of the others: ${p99('quiet').toFixed(0)} ms quiet, ${p99('one').toFixed(0)} ms beside one agent ` +
    `(${ratios.one.toFixed(2)} times), ${p99('ten').toFixed(0)} ms beside ten (${ratios.ten.toFixed(2)} times); ${failedCount} failed`,
);
if (failedCount > 0 || ratios.one > 2 || ratios.ten > 2) {
  console.log('MISSED: nobody else is refused, and p99 is at most twice what it was');
  process.exitCode = 1;
}

/**
 * Starts one upstream. It stands for many upstreams, because the gateway treats each address of
 * 127.0.0.0/8 as a separate origin.
 */
async function startUpstream(delayMs: number): Promise<(n: number) => string> {
  const program = running.use(startProgram(['test/bench/upstream.ts', String(delayMs)]));
  const port = await program.find(/port (\d+)/);
  return (n) => `http://127.0.0.${n + 1}:${port}/items/1`;
}

/** Creates a user with an agent that may read every URL, and returns the agent's key. */
async function createReaderKey(org: string, name: string): Promise<string> {
  const owner = await createPerson(tables.query, url, { orgId: org, name, role: 'member' });
  const agent = await createAgent(url, owner, `${name}-agent`);
  successfulBodyOf(
    await owner.post('/v1/rules', {
      identity_id: agent.id,
      effect: 'allow',
      pattern: 'http:GET:**',
    }),
  );
  return agent.key;
}

function callTargetOf(key: string, body: { path: string; timeout_ms?: number }): Target {
  return {
    url: `${url}/v1/actions/call`,
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    body: JSON.stringify({ service: 'http', method: 'GET', ...body }),
  };
}

/**
 * Makes 300 calls that hang until their deadline. The agents make them in turn. Returns the number
 * of calls that the gateway refused.
 */
async function makeHangingCalls(keys: readonly string[], path: string): Promise<number> {
  if (keys.length === 0) return 0;
  const dispatcher = new Agent({ connections: 400 });
  let refusedCount = 0;
  const calls = Array.from({ length: 300 }, async (_, n) => {
    const target = callTargetOf(keys[n % keys.length] ?? '', { path, timeout_ms: hangMs });
    const { url: at, method, headers = {}, body = null } = target;
    const reply = await request(at, { dispatcher, method, headers, body });
    await reply.body.dump();
    if (reply.statusCode === 429) refusedCount += 1;
  });
  await Promise.all(calls);
  await dispatcher.close();
  return refusedCount;
}
