import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { expect, onTestFinished, test } from 'vitest';

import { createCaller, signIn } from '../support/http.ts';
import { listAll, runClient } from './kill/client.ts';
import type { Actors, Ledger } from './kill/client.ts';
import { createRandom } from './kill/random.ts';
import { endProcessesOf, processesOf, startProgram } from '../support/program.ts';
import type { Program } from '../support/program.ts';
import { chooseSeed, chooseSweepValue } from '../support/sweeps.ts';
import { startUpstream } from '../support/upstream.ts';
import { createAgent, successfulBodyOf, pollUntil } from '../support/world.ts';

const killCount = Number(process.env['TEST_KILLS'] ?? chooseSweepValue({ sampled: 1, whole: 6 }));
/**
 * With this seed, the sample kills the program while it works. Other seeds also kill some starts.
 */
const sampleSeed = 1;
const seed = chooseSeed(sampleSeed);
/**
 * The number of concurrent loops that allow calls. So one kill can interrupt at most this many
 * executions.
 */
const executionsUnderWayMax = 32;

/**
 * Checks promises 1, 3, 4 and 6 of docs/reference/reliability.md#promises while SIGKILL ends the
 * program again and again, at random moments.
 */
test(
  `npm start, after ${killCount} kills, still has every approval and has sent an approved POST at most once (TEST_SEED=${seed})`,
  {
    timeout: 300_000 + killCount * 20_000,
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
    const nextRandom = createRandom(seed);
    const ledger: Ledger = { raised: new Map(), allowed: new Set(), oddAnswers: [] };

    let program = startProgram(dataDir, settings);
    let actors = await prepareActors(program, upstream);
    for (let kill = 0; kill < killCount; kill += 1) {
      const stop = new AbortController();
      const clientRun = runClient(actors, ledger, stop.signal);
      // Most kills interrupt the work; some interrupt the start after the previous kill.
      await new Promise((resolve) => setTimeout(resolve, 100 + nextRandom() * 1_500));
      // On a busy machine, no call may have been answered yet.
      await pollUntil(() => ledger.raised.size > kill, 'a call that waits for approval');
      program.kill('SIGKILL');
      await program.ended;
      stop.abort();
      await clientRun;

      program = startProgram(dataDir, settings);
      if (nextRandom() < 0.3) {
        await new Promise((resolve) => setTimeout(resolve, 200 + nextRandom() * 1_500));
        program.kill('SIGKILL');
        await program.ended;
        program = startProgram(dataDir, settings);
      }
      actors = { ...actors, url: await program.url() };
    }
    await using lastProgram = program;
    const { url, cookie } = actors;
    const user = createCaller(url, { cookie, origin: url });

    // Every approval of which a client was told still exists and can still be decided.
    const approvalsById = new Map(
      (await listAll(user, '/v1/approvals')).map((each) => [each.id, each]),
    );
    expect([...ledger.raised.values()].filter((id) => !approvalsById.has(id))).toEqual([]);
    expect(ledger.raised.size).toBeGreaterThan(killCount);
    for (const { id, status } of approvalsById.values()) {
      expect(['pending', 'allowed']).toContain(status);
      if (ledger.allowed.has(id)) expect(status).toBe('allowed');
      if (status === 'pending') {
        expect(
          (await user.post(`/v1/approvals/${id}/resolve`, { resolution: 'allow' })).status,
        ).toBe(200);
      }
    }

    // Every execution ends, at the latest when the killed process's lease of 15 s has expired.
    let executions: EndedExecution[] = [];
    await pollUntil(async () => {
      executions = (await listAll(user, '/v1/approvals')).map(({ id, execution }) => ({
        id,
        ...execution,
      }));
      return executions.every(({ status }) => ['executed', 'failed'].includes(status));
    }, 'the end of every execution');
    const unknownExecutions = executions.filter(({ status }) => status === 'failed');
    expect(unknownExecutions.filter(({ error }) => error?.error !== 'outcome_unknown')).toEqual([]);
    expect(unknownExecutions.length).toBeLessThanOrEqual(killCount * executionsUnderWayMax);

    // The upstream's own log shows which calls were sent.
    const receivedPosts = upstream.hits.filter(({ method }) => method === 'POST');
    const callNumbers = receivedPosts.map(
      ({ body }) => (JSON.parse(body) as { number: number }).number,
    );
    expect(new Set(callNumbers).size, 'no POST arrived twice').toBe(callNumbers.length);
    const arrivedNumbers = new Set(callNumbers);
    const statuses = new Map(executions.map(({ id, status }) => [id, status]));
    for (const [number, id] of ledger.raised) {
      if (statuses.get(id) === 'executed')
        expect(arrivedNumbers, `call ${number}`).toContain(number);
    }
    expect(callNumbers.length).toBeGreaterThanOrEqual(executions.length - unknownExecutions.length);
    expect(callNumbers.length).toBeLessThanOrEqual(executions.length);

    await expectWholeAudit(user, executions.length);
    expect(ledger.oddAnswers).toEqual([]);
    process.stdout.write(
      `killed ${killCount} times: ${approvalsById.size} approvals, ${callNumbers.length} POSTs, ${unknownExecutions.length} outcomes unknown\n`,
    );
    lastProgram.kill('SIGTERM');
    expect((await lastProgram.ended).code).toBe(0);
    expect(await processesOf(dataDir)).toEqual([]);
  },
);

interface EndedExecution {
  readonly id: string;
  readonly status: string;
  readonly error?: { readonly error: string };
}

async function prepareActors(
  program: Program,
  upstream: { readonly url: string; readonly host: string },
): Promise<Actors> {
  const signInUrl = await program.signInUrl();
  const url = new URL(signInUrl).origin;
  const user = await signIn(signInUrl);
  const secret = { name: 'target', value: 'CANARY-kill', allowed_hosts: [upstream.host] };
  successfulBodyOf(await user.post('/v1/secrets', secret));
  const { key: agentKey } = await createAgent(url, user, 'bot');
  return { url, agentKey, cookie: user.cookie, targetUrl: `${upstream.url}/items` };
}

/**
 * Expects one audit record for each status change of each approval, and an unbroken chain of
 * hashes.
 */
async function expectWholeAudit(user: ReturnType<typeof createCaller>, approvals: number) {
  const types = ['approval.raised', 'approval.resolved', 'execution.finished'];
  let counts: Record<string, number> = {};
  await pollUntil(async () => {
    const rows = await listAll(user, '/v1/audit');
    counts = Object.fromEntries(
      types.map((type) => [type, rows.filter((row) => row.type === type).length]),
    );
    return types.every((type) => (counts[type] ?? 0) >= approvals);
  }, 'the audit rows');
  expect(counts).toEqual(Object.fromEntries(types.map((type) => [type, approvals])));
  expect((await user.get('/v1/audit/verify')).body).toMatchObject({ valid: true });
}
