import { randomBytes } from 'node:crypto';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';

import { beforeAll, describe, expect, test } from 'vitest';

import { components } from '#contracts/vocabulary';
import { lastingPort } from '../../services-src/embedded/index.ts';
import { signIn, createCallerWithKey } from '../support/http.ts';
import type { Caller } from '../support/http.ts';
import { processesOf, startProgram } from '../support/program.ts';
import type { Program } from '../support/program.ts';
import { startUpstream } from '../support/upstream.ts';
import type { Upstream } from '../support/upstream.ts';
import { createAgent, successfulBodyOf, pollUntil } from '../support/world.ts';
import type { Agent } from '../support/world.ts';
import {
  createTemporaryDir,
  expectRefusal,
  unknownNames,
  wrongValues,
} from './start/refusals.testing.ts';
import type { TemporaryDir, WrongSetting } from './start/refusals.testing.ts';

/**
 * The tests share one data folder, and each continues where the previous one stopped, because
 * creating a database for each would take most of their time.
 */
describe('the command node start.ts', { timeout: 300_000 }, () => {
  let dir: TemporaryDir;
  let upstream: Upstream;
  let user: Caller;
  let agent: Agent;
  let approvalId: string;
  let program: Program;
  let healthPort: number;

  beforeAll(async () => {
    const stack = new AsyncDisposableStack();
    dir = stack.use(await createTemporaryDir());
    upstream = stack.use(await startUpstream());
    healthPort = await lastingPort();
    return () => stack.disposeAsync();
  });

  test('prints its address, and prints a sign-in link for the first admin at each start until such a link is used', async () => {
    const firstProgram = startProgram(dir.path);
    const firstSignInUrl = new URL(await firstProgram.signInUrl());
    expect(firstSignInUrl.origin).toBe(await firstProgram.url());
    expect(firstSignInUrl.href).toMatch(/\/sign-in\?token=sil_/);
    // A first start prints no warnings or errors.
    expect(firstProgram.output.stderr).toBe('');
    const lines = firstProgram.output.stdout.trim().split('\n');
    const loudLines = lines.filter((line) => !/^\{"level":"(debug|info)"/.test(line));
    expect(loudLines).toEqual([
      `Agent Action Gateway: ${firstSignInUrl.origin}`,
      `Sign in: ${firstSignInUrl.href}`,
    ]);
    firstProgram.kill('SIGINT');
    expect(await firstProgram.ended).toEqual({ code: 0, signal: null });
    expect(await processesOf(dir.path)).toEqual([]);

    const secondProgram = startProgram(dir.path);
    const link = await secondProgram.signInUrl();
    const url = await secondProgram.url();
    const admin = await signIn(link);
    await expect(
      signIn(`${url}${firstSignInUrl.pathname}${firstSignInUrl.search}`),
    ).rejects.toThrow('410');
    await expect(signIn(link)).rejects.toThrow('410');
    agent = await createAgent(url, admin, 'bot');
    const call = { service: 'http', method: 'POST', url: 'https://example.com/', body: { id: 1 } };
    approvalId = successfulBodyOf(await agent.post('/v1/actions/call', call)).approval_id;
    secondProgram.kill('SIGTERM');
    expect(await secondProgram.ended).toEqual({ code: 0, signal: null });
  });

  test('reads a private key from a file, derives the public key, and warns of variables of other programs', async () => {
    const path = join(dir.path, 'decision-key');
    await writeFile(path, randomBytes(32).toString('base64url'));
    program = startProgram(dir.path, {
      DECISION_KEY_FILE: path,
      EGRESS_ALLOW: upstream.host,
      HEALTH_PORT: String(healthPort),
      LOG_LEVEL: 'INFO',
      WEBHOOK_URL: 'https://hooks.example/CANARY-path',
    });

    expect(new URL(await program.signInUrl()).origin).toBe(await program.url());
    expect(program.output.stdout).toMatch(/"variables":\["WEBHOOK_URL"\]/);
    expect(program.output.stdout).not.toContain('CANARY-path');
  });

  test('keeps all data through a restart, and the admin can sign in again', async () => {
    const bot = createCallerWithKey(await program.url(), agent.key);
    expect((await bot.get('/v1/identities/me')).body).toMatchObject({ id: agent.id, name: 'bot' });
    const approval = await bot.get(`/v1/approvals/${approvalId}`);
    expect(approval.body).toMatchObject({ status: 'pending', relationship: 'self' });
    expect(program.output.stdout).toContain('Sign in:');
    // The output is no terminal, so the log is written at its usual level.
    await expect
      .poll(() => program.output.stdout)
      .toMatch(/^\{"level":"info".*"msg":"request"\}$/m);
    expect(program.output.stderr).toBe('');
    user = await signIn(await program.signInUrl());
  });

  test('gives metrics to Prometheus at HEALTH_PORT, without ids and names, and not at the address of the gateway', async () => {
    const health = `http://127.0.0.1:${healthPort}`;
    const readMetrics = async () => (await fetch(`${health}/metrics`)).text();
    const call = { service: 'http', method: 'GET', url: `${upstream.url}/CANARY-path` };
    await user.post('/v1/actions/call', call);

    await expect.poll(readMetrics).toMatch(/^aag_approvals_waiting 1$/m);
    const text = await readMetrics();
    for (const line of [
      /^aag_calls_total\{outcome="called"\} 1$/m,
      /^http_server_request_duration_count\{.*http_route="\/v1\/actions\/call",http_response_status_code="200".*\} 1$/m,
      /^http_client_request_duration_count\{.*http_response_status_code="2\d\d".*\} 1$/m,
      /^aag_call_layer_duration_count\{layer="permission",error_type=""\} 1$/m,
      /^rpc_server_call_duration_count\{rpc_method="executor.execute",error_type=""\} 1$/m,
      /^aag_slots_limit\{pool="executor.calls"\} \d+$/m,
      /^aag_stream_fill\{stream="AUDIT"\} 0(\.\d+)?$/m,
      /^aag_consumer_waiting\{consumer="notifier"\} \d+$/m,
      /^aag_outbox_waiting\{component="approvals"\} \d+$/m,
      /^aag_webhook_due 0$/m,
      /^aag_breakers_open\{component="executor"\} 0$/m,
      ...components.map(
        (name) => new RegExp(`^aag_check_failing\\{component="${name}",.*\\} 0$`, 'm'),
      ),
      /^db_client_connection_count\{db_client_connection_pool_name="audit",db_client_connection_state="idle"\} \d+$/m,
      /^db_client_connection_pending_requests\{db_client_connection_pool_name="policy"\} 0$/m,
    ]) {
      expect(text).toMatch(line);
    }
    expect(text).not.toMatch(/[0-9a-f]{8}-[0-9a-f]{4}-|CANARY|actions\/call\?|"bot"/);
    expect((await fetch(`${health}/health/ready`)).status).toBe(200);
    expect((await user.get('/metrics')).status).toBe(404);
  });

  test('answers the requests under way on SIGTERM, and leaves no process running', async () => {
    upstream.delayMs = 1_500;
    const call = { service: 'http', method: 'POST', url: `${upstream.url}/slow`, body: {} };
    const pendingAnswer = user.post('/v1/actions/call', call);
    await pollUntil(() => upstream.hits.length === 1, 'the request upstream');
    program.kill('SIGTERM');

    expect((await pendingAnswer).body).toMatchObject({
      status: 'called',
      result: { status_code: 201 },
    });
    expect(await program.ended).toEqual({ code: 0, signal: null });
    expect(await processesOf(dir.path)).toEqual([]);
    await expect(user.get('/v1/identities/me')).rejects.toThrow('fetch failed');
  });

  test('stops because of a wrong setting, and also stops the components that it has started', async () => {
    await expectRefusal(dir.path, [['TEMPLATES_DIR', '/no/such/folder', /cannot be read/]]);
  });
});

test.for<[what: string, wrong: WrongSetting[]]>([
  ['values of the wrong form', wrongValues],
  ['names that are not settings', unknownNames],
])(
  '%s stop the program before anything is started, and the program reports each of them',
  async ([, wrong]) => {
    await using dir = await createTemporaryDir();
    await expectRefusal(dir.path, wrong);
  },
);
