import { randomBytes } from 'node:crypto';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { afterAll, beforeAll, describe, expect, test } from 'vitest';

import { signIn, withKey } from '../support/http.ts';
import { endProcessesOf, processesOf, startProgram } from './support/program.ts';
import { startUpstream } from './support/upstream.ts';
import { createAgent, created, until } from './support/world.ts';

/** A folder of its own for each test: they run side by side, since most of each is waiting. */
async function temporaryDir(): Promise<AsyncDisposable & { readonly path: string }> {
  const path = await mkdtemp(join(tmpdir(), 'aag-start-'));
  return {
    path,
    async [Symbol.asyncDispose]() {
      await endProcessesOf(path);
      await rm(path, { recursive: true, force: true, maxRetries: 5 });
    },
  };
}

describe.concurrent('node start.ts', { timeout: 90_000 }, () => {
  test('prints where it is, and links for the first admin until one is used', async () => {
    await using dir = await temporaryDir();
    const first = startProgram(dir.path);
    const old = new URL(await first.signInUrl());
    expect(old.origin).toBe(await first.url());
    expect(old.href).toMatch(/\/sign-in\?token=sil_/);
    first.kill('SIGINT');
    expect(await first.ended).toEqual({ code: 0, signal: null });
    expect(await processesOf(dir.path)).toEqual([]);

    const second = startProgram(dir.path);
    const link = await second.signInUrl();
    const url = await second.url();
    const user = await signIn(link);
    await expect(signIn(`${url}${old.pathname}${old.search}`)).rejects.toThrow('410');
    await expect(signIn(link)).rejects.toThrow('410');
    const agent = await createAgent(url, user, 'bot');
    const call = { service: 'http', method: 'POST', url: 'https://example.com/', body: { id: 1 } };
    const raised = created(await agent.post('/v1/actions/call', call));
    second.kill('SIGTERM');
    expect(await second.ended).toEqual({ code: 0, signal: null });

    // Everything is kept, and the admin can sign in once more.
    await using third = startProgram(dir.path);
    const bot = withKey(await third.url(), agent.key);
    expect((await bot.get('/v1/identities/me')).body).toMatchObject({ id: agent.id, name: 'bot' });
    const approval = await bot.get(`/v1/approvals/${raised.approval_id}`);
    expect(approval.body).toMatchObject({ status: 'pending', relationship: 'self' });
    expect(third.output.stdout).toContain('Sign in:');
    expect(third.output.stderr).toBe('');
  });

  test('takes a key from a file, and the public half of it with that', async () => {
    await using dir = await temporaryDir();
    const path = join(dir.path, 'decision-key');
    await writeFile(path, randomBytes(32).toString('base64url'));
    await using program = startProgram(dir.path, { DECISION_KEY_FILE: path });

    expect(new URL(await program.signInUrl()).origin).toBe(await program.url());
  });

  test('on SIGTERM answers what is under way, and leaves nothing running', async () => {
    using upstream = await startUpstream();
    await using dir = await temporaryDir();
    await using program = startProgram(dir.path, { EGRESS_ALLOW: upstream.host });
    const user = await signIn(await program.signInUrl());
    upstream.delayMs = 1_500;
    const call = { service: 'http', method: 'POST', url: `${upstream.url}/slow`, body: {} };
    const answered = user.post('/v1/actions/call', call);
    await until(() => upstream.hits.length === 1, 'the request upstream');
    program.kill('SIGTERM');

    expect((await answered).body).toMatchObject({ status: 'called', result: { status_code: 201 } });
    expect(await program.ended).toEqual({ code: 0, signal: null });
    expect(await processesOf(dir.path)).toEqual([]);
    await expect(user.get('/v1/identities/me')).rejects.toThrow('fetch failed');
  });

  test('refuses a folder that another one uses, and does not disturb it', async () => {
    await using dir = await temporaryDir();
    await using first = startProgram(dir.path);
    const url = await first.url();
    const second = startProgram(dir.path);

    expect(await second.ended).toEqual({ code: 1, signal: null });
    expect(second.output.stderr).toMatch(/is in use by process \d+\. Stop it first/);
    expect(second.output.stderr).toContain(`process ${first.pid}.`);
    expectSentence(second.output.stderr);
    expect((await fetch(`${url}/health/ready`)).status).toBe(200);
  });
});

describe('a wrong setting', () => {
  describe.concurrent('stops the start before anything is started', () => {
    test.for<Wrong>([
      ['PORT', 'eighty', /whole number/],
      ['PORT', '70000', /65535/],
      ['HOST', '999.1.1.1', /host name or an address/],
      ['BASE_URL', 'gateway.example.com', /http or https URL/],
      ['LOG_LEVEL', 'loud', /debug/],
      ['RATE_IDENTITY_PER_MINUTE', '-1', /whole number/],
      ['EGRESS_PROXY', 'socks://proxy', /http/],
      ['EGRESS_CA_FILE', '/no/such/file.pem', /a file that can be read/],
      ['PERMIT_KEY', 'not-a-key', /256 random bits/],
      ['DATABASE_URL', 'mysql://db', /postgres:\/\//],
      ['NATS_URL', 'http://nats', /nats:\/\//],
      ['DATA_DIR', '/dev/null/data', /choose another DATA_DIR/i],
      ['EGRES_ALLOW', '127.0.0.1:1', /Did you mean EGRESS_ALLOW\?/],
      ['LOG_LEVLE', 'info', /Did you mean LOG_LEVEL\?/],
      ['RATE_LIMIT', '5', /not a setting/],
    ])('%s=%s', async (wrong) => {
      await using dir = await temporaryDir();
      await expectRefusal(dir.path, wrong);
    });

    test('all of them at once', async () => {
      await using dir = await temporaryDir();
      await using program = startProgram(dir.path, { PORT: 'x', LOG_LEVEL: 'y', HOST: 'a b' });

      expect(await program.ended).toEqual({ code: 1, signal: null });
      const named = program.output.stderr
        .trim()
        .split('\n')
        .map((line) => line.split(' ')[0]);
      expect(named).toHaveLength(3);
      expect(new Set(named)).toEqual(new Set(['HOST', 'LOG_LEVEL', 'PORT']));
    });
  });

  describe('stops the start, and what had been started', () => {
    // One folder for all: making a database each time would be most of the time.
    let dir: Awaited<ReturnType<typeof temporaryDir>>;
    beforeAll(async () => {
      dir = await temporaryDir();
    });
    afterAll(() => dir[Symbol.asyncDispose]());

    test.for<Wrong>([
      ['BASE_URL', 'http://gateway.example.com', /https/],
      ['BASE_URL', 'https://gateway.example.com/path', /a scheme, a host and a port alone/],
      ['EGRESS_ALLOW', 'somewhere', /host:port/],
      ['TRUSTED_PROXIES', 'everybody', /CIDR/],
      ['TEMPLATES_DIR', '/no/such/folder', /a folder that cannot be read/],
      ['MASTER_KEY', 'not-a-key', /32 random bytes/],
      ['PERMIT_KEY_FILE', '/no/such/file', /a file that cannot be read/],
    ])('%s=%s', async (wrong) => {
      await expectRefusal(dir.path, wrong);
    });

    test('a port that another program has', async () => {
      using upstream = await startUpstream();
      const { port } = new URL(upstream.url);
      await expectRefusal(dir.path, ['PORT', port, new RegExp(`PORT ${port}`)]);
    });
  });
});

type Wrong = [setting: string, value: string, told: RegExp];

async function expectRefusal(dataDir: string, [setting, value, told]: Wrong): Promise<void> {
  await using program = startProgram(dataDir, { [setting]: value });

  expect(await program.ended).toEqual({ code: 1, signal: null });
  expect(program.output.stdout).toBe('');
  expect(program.output.stderr).toMatch(new RegExp(`\\b${setting}\\b`));
  expect(program.output.stderr).toMatch(told);
  if (setting.endsWith('_KEY')) expect(program.output.stderr).not.toContain(value);
  expectSentence(program.output.stderr);
  expect(await processesOf(dataDir)).toEqual([]);
}

/** Of a person's words, not of a programmer's. */
function expectSentence(text: string): void {
  expect(text).toMatch(/^[\w/][^\n]{20,}\n$/);
  expect(text).not.toMatch(/\bat .*:\d+|node_modules|\.ts:\d/);
}
