import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { expect, onTestFinished, test } from 'vitest';

import { createCaller, signIn } from '../support/http.ts';
import { listAll, work } from './kill/client.ts';
import type { Actors, Ledger } from './kill/client.ts';
import { createRandom } from './kill/random.ts';
import { endProcessesOf, processesOf, startProgram } from './support/program.ts';
import type { Program } from './support/program.ts';
import { startUpstream } from './support/upstream.ts';
import { createAgent, created, until } from './support/world.ts';

const kills = Number(process.env['TEST_KILLS'] ?? 6);
const seed = Number(process.env['TEST_SEED'] ?? Date.now() % 1_000_000_000);
/** Loops of the client that allow: so many executions at most are under way at one moment. */
const underWayMax = 32;

/** Promises 1, 3, 4 and 6 of docs/reference/reliability.md#promises, with SIGKILL at any moment. */
test(
  `npm start killed ${kills} times still has every approval and sends an approved POST at most once (TEST_SEED=${seed})`,
  {
    timeout: 60_000 + kills * 20_000,
  },
  async () => {
    const dataDir = await mkdtemp(join(tmpdir(), 'aag-kill-'));
    onTestFinished(async () => {
      await endProcessesOf(dataDir);
      await rm(dataDir, { recursive: true, force: true, maxRetries: 5 });
    });
    using upstream = await startUpstream();
    upstream.delayMs = 30;
    const settings = {
      EGRESS_ALLOW: upstream.host,
      APPROVALS_OPEN_PER_REQUESTER: '10000',
      APPROVALS_OPEN_PER_SUBTREE: '10000',
      APPROVALS_RAISED_PER_HOUR: '0',
      RATE_IDENTITY_PER_MINUTE: '0',
      RATE_USER_PER_MINUTE: '0',
    };
    const random = createRandom(seed);
    const ledger: Ledger = { raised: new Map(), allowed: new Set(), odd: [] };

    let program = startProgram(dataDir, settings);
    let actors = await prepare(program, upstream);
    for (let kill = 0; kill < kills; kill += 1) {
      const stop = new AbortController();
      const working = work(actors, ledger, stop.signal);
      // Most kills fall into the work; some into the start that follows the one before.
      await new Promise((resolve) => setTimeout(resolve, 100 + random() * 1_500));
      program.kill('SIGKILL');
      await program.ended;
      stop.abort();
      await working;

      program = startProgram(dataDir, settings);
      if (random() < 0.3) {
        await new Promise((resolve) => setTimeout(resolve, 200 + random() * 1_500));
        program.kill('SIGKILL');
        await program.ended;
        program = startProgram(dataDir, settings);
      }
      actors = { ...actors, url: await program.url() };
    }
    await using last = program;
    const { url, cookie } = actors;
    const user = createCaller(url, { cookie, origin: url });

    // Every raised approval is still there, and can still be decided.
    const listed = new Map((await listAll(user, '/v1/approvals')).map((each) => [each.id, each]));
    expect([...ledger.raised.values()].filter((id) => !listed.has(id))).toEqual([]);
    expect(ledger.raised.size).toBeGreaterThan(kills);
    for (const { id, status } of listed.values()) {
      expect(['pending', 'allowed']).toContain(status);
      if (ledger.allowed.has(id)) expect(status).toBe('allowed');
      if (status === 'pending') {
        expect(
          (await user.post(`/v1/approvals/${id}/resolve`, { resolution: 'allow' })).status,
        ).toBe(200);
      }
    }

    // Every execution ends: a lease of the killed process lasts 15 s.
    let executions: Ended[] = [];
    await until(async () => {
      executions = (await listAll(user, '/v1/approvals')).map(({ id, execution }) => ({
        id,
        ...execution,
      }));
      return executions.every(({ status }) => ['executed', 'failed'].includes(status));
    }, 'the end of every execution');
    const unknown = executions.filter(({ status }) => status === 'failed');
    expect(unknown.filter(({ error }) => error?.error !== 'outcome_unknown')).toEqual([]);
    expect(unknown.length).toBeLessThanOrEqual(kills * underWayMax);

    // The upstream's own log is the judge of what was sent.
    const posts = upstream.hits.filter(({ method }) => method === 'POST');
    const numbers = posts.map(({ body }) => (JSON.parse(body) as { number: number }).number);
    expect(new Set(numbers).size, 'no POST arrived twice').toBe(numbers.length);
    const arrived = new Set(numbers);
    const statuses = new Map(executions.map(({ id, status }) => [id, status]));
    for (const [number, id] of ledger.raised) {
      if (statuses.get(id) === 'executed') expect(arrived, `call ${number}`).toContain(number);
    }
    expect(numbers.length).toBeGreaterThanOrEqual(executions.length - unknown.length);
    expect(numbers.length).toBeLessThanOrEqual(executions.length);

    await expectWholeAudit(user, executions.length);
    expect(ledger.odd).toEqual([]);
    process.stdout.write(
      `killed ${kills} times: ${listed.size} approvals, ${numbers.length} POSTs, ${unknown.length} outcomes unknown\n`,
    );
    last.kill('SIGTERM');
    expect((await last.ended).code).toBe(0);
    expect(await processesOf(dataDir)).toEqual([]);
  },
);

interface Ended {
  readonly id: string;
  readonly status: string;
  readonly error?: { readonly error: string };
}

async function prepare(
  program: Program,
  upstream: { readonly url: string; readonly host: string },
): Promise<Actors> {
  const signInUrl = await program.signInUrl();
  const url = new URL(signInUrl).origin;
  const user = await signIn(signInUrl);
  const secret = { name: 'target', value: 'CANARY-kill', allowed_hosts: [upstream.host] };
  created(await user.post('/v1/secrets', secret));
  const { key: agentKey } = await createAgent(url, user, 'bot');
  return { url, agentKey, cookie: user.cookie, target: `${upstream.url}/items` };
}

/** One row per transition, and a chain that fits. */
async function expectWholeAudit(user: ReturnType<typeof createCaller>, approvals: number) {
  const types = ['approval.raised', 'approval.resolved', 'execution.finished'];
  let counts: Record<string, number> = {};
  await until(async () => {
    const rows = await listAll(user, '/v1/audit');
    counts = Object.fromEntries(
      types.map((type) => [type, rows.filter((row) => row.type === type).length]),
    );
    return types.every((type) => (counts[type] ?? 0) >= approvals);
  }, 'the audit rows');
  expect(counts).toEqual(Object.fromEntries(types.map((type) => [type, approvals])));
  expect((await user.get('/v1/audit/verify')).body).toMatchObject({ valid: true });
}
