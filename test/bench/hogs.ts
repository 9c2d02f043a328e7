/**
 * `npm run bench:hogs` measures what hanging calls cost other callers: the p99 of calls of another user and of another org, quiet,
 * beside 300 hanging calls of one agent, and beside 300 of ten agents of one org. In turn, because the
 * machine is not the same from one minute to the next.
 */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { Agent, request } from 'undici';

import { openTables } from '../e2e/support/database.ts';
import { createOrg, createPerson } from '../e2e/support/people.ts';
import { createAgent, created } from '../e2e/support/world.ts';
import { startDistributed } from './gateway.ts';
import { medianOf } from './measure.ts';
import type { Target } from './measure.ts';
import { offer } from './offer.ts';
import type { Offered } from './offer.ts';
import { startProgram } from './processes.ts';

const rounds = 3;
const seconds = 8;
const perSecond = 20;
const hangMs = (seconds + 3) * 1_000;
const states = ['quiet', 'one', 'ten'] as const;
type State = (typeof states)[number];

await using running = new AsyncDisposableStack();
const dataDir = await mkdtemp(join(tmpdir(), 'aag-hogs-'));
running.defer(() => rm(dataDir, { recursive: true, force: true, maxRetries: 5 }));
const well = await startUpstream(50);
const silent = await startUpstream(600_000);
const gateway = running.use(
  await startDistributed({
    dataDir,
    upstreamUrl: well(0),
    environment: { EGRESS_ALLOW: '127.0.0.0/8', EXECUTOR_IN_FLIGHT_MAX: '256' },
  }),
);
const { url, adminUrl, orgId } = gateway;
const tables = running.use(await openTables(adminUrl));
const otherOrg = await createOrg(tables.query);

const hogs = await Promise.all(Array.from({ length: 10 }, (_, n) => agentOf(orgId, `hog${n}`)));
const others = [await agentOf(orgId, 'bob'), await agentOf(otherOrg, 'eve')].map((key) =>
  callOf(key, { path: well(1) }),
);
const otherOrgs = others.slice(1);

const measured: Record<State, Offered[]> = { quiet: [], one: [], ten: [] };
await offer(others, { perSecond, seconds });
for (let round = 0; round < rounds; round += 1) {
  for (const [at, state] of states.entries()) {
    // An origin of its own each time: what was found out about the last one is no help.
    const path = silent(2 + round * states.length + at);
    const agents = { quiet: [], one: hogs.slice(0, 1), ten: hogs }[state];
    const hanging = hang(agents, path);
    await new Promise((resolve) => setTimeout(resolve, 1_500));
    // With ten agents of an org it is the other orgs that are not to notice.
    const targets = state === 'ten' ? otherOrgs : others;
    measured[state].push(await offer(targets, { perSecond, seconds }));
    const refused = await hanging;
    const { p99, failed } = measured[state].at(-1) as Offered;
    console.log(
      `${state}: p99 ${p99.toFixed(0)} ms, ${failed} failed; ${refused} hanging calls refused`,
    );
  }
}

const p99 = (state: State) => medianOf(measured[state].map((each) => each.p99));
const failed = states
  .flatMap((state) => measured[state])
  .reduce((sum, each) => sum + each.failed, 0);
const ratios = { one: p99('one') / p99('quiet'), ten: p99('ten') / p99('quiet') };
console.log(
  `p99 of the others: ${p99('quiet').toFixed(0)} ms quiet, ${p99('one').toFixed(0)} ms beside one agent ` +
    `(${ratios.one.toFixed(2)} times), ${p99('ten').toFixed(0)} ms beside ten (${ratios.ten.toFixed(2)} times); ${failed} failed`,
);
if (failed > 0 || ratios.one > 2 || ratios.ten > 2) {
  console.log('MISSED: nobody else is refused, and p99 is at most twice what it was');
  process.exitCode = 1;
}

/** Addresses of 127.0.0.0/8 are origins of their own. */
async function startUpstream(delayMs: number): Promise<(n: number) => string> {
  const program = running.use(startProgram(['test/bench/upstream.ts', String(delayMs)]));
  const port = await program.find(/port (\d+)/);
  return (n) => `http://127.0.0.${n + 1}:${port}/items/1`;
}

/** The key of an agent, of a user of its own, that may read everything. */
async function agentOf(org: string, name: string): Promise<string> {
  const owner = await createPerson(tables.query, url, { orgId: org, name, role: 'member' });
  const agent = await createAgent(url, owner, `${name}-agent`);
  created(
    await owner.post('/v1/rules', {
      identity_id: agent.id,
      effect: 'allow',
      pattern: 'http:GET:**',
    }),
  );
  return agent.key;
}

function callOf(key: string, body: { path: string; timeout_ms?: number }): Target {
  return {
    url: `${url}/v1/actions/call`,
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    body: JSON.stringify({ service: 'http', method: 'GET', ...body }),
  };
}

/** 300 calls of these agents that hang until their deadline; how many were refused. */
async function hang(keys: readonly string[], path: string): Promise<number> {
  if (keys.length === 0) return 0;
  const dispatcher = new Agent({ connections: 400 });
  let refused = 0;
  const calls = Array.from({ length: 300 }, async (_, n) => {
    const target = callOf(keys[n % keys.length] ?? '', { path, timeout_ms: hangMs });
    const { url: at, method, headers = {}, body = null } = target;
    const reply = await request(at, { dispatcher, method, headers, body });
    await reply.body.dump();
    if (reply.statusCode === 429) refused += 1;
  });
  await Promise.all(calls);
  await dispatcher.close();
  return refused;
}
