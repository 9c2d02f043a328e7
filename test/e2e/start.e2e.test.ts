import { randomBytes } from 'node:crypto';
import { mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { beforeAll, describe, expect, test } from 'vitest';

import { signIn, createCallerWithKey } from '../support/http.ts';
import type { Caller } from '../support/http.ts';
import { endProcessesOf, processesOf, startProgram } from '../support/program.ts';
import type { Program } from '../support/program.ts';
import { startUpstream } from '../support/upstream.ts';
import type { Upstream } from '../support/upstream.ts';
import { createAgent, successfulBodyOf, pollUntil } from '../support/world.ts';
import type { Agent } from '../support/world.ts';

interface TemporaryDir extends AsyncDisposable {
  readonly path: string;
}

async function createTemporaryDir(): Promise<TemporaryDir> {
  const path = await mkdtemp(join(tmpdir(), 'aag-start-'));
  return {
    path,
    async [Symbol.asyncDispose]() {
      await endProcessesOf(path);
      await rm(path, { recursive: true, force: true, maxRetries: 5 });
    },
  };
}

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

  beforeAll(async () => {
    const stack = new AsyncDisposableStack();
    dir = stack.use(await createTemporaryDir());
    upstream = stack.use(await startUpstream());
    return () => stack.disposeAsync();
  });

  test('prints its address, and prints a sign-in link for the first admin at each start until such a link is used', async () => {
    const firstProgram = startProgram(dir.path);
    const firstSignInUrl = new URL(await firstProgram.signInUrl());
    expect(firstSignInUrl.origin).toBe(await firstProgram.url());
    expect(firstSignInUrl.href).toMatch(/\/sign-in\?token=sil_/);
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

  test('reads a private key from a file, and derives the public key', async () => {
    const path = join(dir.path, 'decision-key');
    await writeFile(path, randomBytes(32).toString('base64url'));
    program = startProgram(dir.path, { DECISION_KEY_FILE: path, EGRESS_ALLOW: upstream.host });

    expect(new URL(await program.signInUrl()).origin).toBe(await program.url());
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

  test('refuses a data folder that another instance uses, and does not disturb that instance', async () => {
    const secondProgram = startProgram(dir.path);

    expect(await secondProgram.ended).toEqual({ code: 1, signal: null });
    expect(secondProgram.output.stderr).toMatch(/is in use by process \d+\. Stop it first/);
    expect(secondProgram.output.stderr).toContain(`process ${program.pid}.`);
    expectSentence(secondProgram.output.stderr);
    expect((await fetch(`${await program.url()}/health/ready`)).status).toBe(200);
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

  describe('stops, as do the components already started, because of a wrong setting:', () => {
    test.for<WrongSetting>([
      ['BASE_URL', 'http://gateway.example.com', /https/],
      ['BASE_URL', 'https://gateway.example.com/path', /a scheme, a host and a port alone/],
      ['EGRESS_ALLOW', 'somewhere', /host:port/],
      ['TRUSTED_PROXIES', 'everybody', /CIDR/],
      ['TEMPLATES_DIR', '/no/such/folder', /a folder that cannot be read/],
      ['MASTER_KEY', 'not-a-key', /32 random bytes/],
      ['PERMIT_KEY_FILE', '/no/such/file', /a file that cannot be read/],
    ])('%s=%s', async (wrongSettings) => {
      await expectRefusal(dir.path, [wrongSettings]);
    });
  });
});

type WrongSetting = [setting: string, value: string, told: RegExp];

const wrongValues: WrongSetting[] = [
  ['PORT', 'eighty', /whole number/],
  ['HOST', '999.1.1.1', /host name or an address/],
  ['BASE_URL', 'gateway.example.com', /http or https URL/],
  ['LOG_LEVEL', 'loud', /debug/],
  ['RATE_IDENTITY_PER_MINUTE', '-1', /whole number/],
  ['EGRESS_PROXY', 'socks://proxy', /http/],
  ['EGRESS_CA_FILE', '/no/such/file.pem', /a file that can be read/],
  ['PERMIT_KEY', 'not-a-key', /256 random bits/],
  ['DATABASE_URL', 'mysql://db', /postgres:\/\//],
  ['NATS_URL', 'http://nats', /nats:\/\//],
];
const unknownNames: WrongSetting[] = [
  ['EGRES_ALLOW', '127.0.0.1:1', /Did you mean EGRESS_ALLOW\?/],
  ['LOG_LEVLE', 'info', /Did you mean LOG_LEVEL\?/],
  ['RATE_LIMIT', '5', /not a setting/],
];

describe.concurrent('before anything is started,', () => {
  test.for<WrongSetting>([
    ...wrongValues,
    ['PORT', '70000', /65535/],
    ['DATA_DIR', '/dev/null/data', /choose another DATA_DIR/i],
    ...unknownNames,
  ])('%s=%s alone stops the program, which reports it', async (wrongSettings) => {
    await using dir = await createTemporaryDir();
    await expectRefusal(dir.path, [wrongSettings]);
  });

  test('the port of another server stops the program, which reports it', async () => {
    await using dir = await createTemporaryDir();
    using upstream = await startUpstream();
    const { port } = new URL(upstream.url);
    await expectRefusal(dir.path, [['PORT', port, new RegExp(`PORT ${port}`)]]);
    expect(await readdir(dir.path)).toEqual([]);
  });

  test.for<[what: string, wrong: WrongSetting[]]>([
    ['values of the wrong form', wrongValues],
    ['names that are not settings', unknownNames],
  ])('several %s stop the program, which reports each of them', async ([, wrongSettings]) => {
    await using dir = await createTemporaryDir();
    await expectRefusal(dir.path, wrongSettings);
  });
});

/** Expects the program to end with one line about each of the settings, and about nothing else. */
async function expectRefusal(
  dataDir: string,
  wrongSettings: readonly WrongSetting[],
): Promise<void> {
  const settings = Object.fromEntries(wrongSettings.map(([setting, value]) => [setting, value]));
  await using program = startProgram(dataDir, { LOG_LEVEL: 'warn', ...settings });

  expect(await program.ended).toEqual({ code: 1, signal: null });
  expect(program.output.stdout).toBe('');
  const lines = program.output.stderr.split(/(?<=\n)/);
  expect(lines).toHaveLength(wrongSettings.length);
  for (const [setting, value, told] of wrongSettings) {
    const line = lines.find((each) => each.startsWith(`${setting} `)) ?? lines[0] ?? '';
    expect(line).toMatch(new RegExp(`\\b${setting}\\b`));
    expect(line).toMatch(told);
    if (setting.endsWith('_KEY')) expect(line).not.toContain(value);
    expectSentence(line);
  }
  expect(await processesOf(dataDir)).toEqual([]);
}

/** The text must be a sentence that a person understands, without a programmer's terms. */
function expectSentence(text: string): void {
  expect(text).toMatch(/^[\w/][^\n]{20,}\n$/);
  expect(text).not.toMatch(/\bat .*:\d+|node_modules|\.ts:\d/);
}
