import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';

import { signIn, withKey } from '../support/http.ts';
import { endProcessesOf, processesOf, startProgram } from './support/program.ts';
import { startUpstream } from './support/upstream.ts';
import { createAgent, created, until } from './support/world.ts';

let dataDir: string;
const makeDir = async () => {
  dataDir = await mkdtemp(join(tmpdir(), 'aag-start-'));
};
const removeDir = async () => {
  await endProcessesOf(dataDir);
  await rm(dataDir, { recursive: true, force: true, maxRetries: 5 });
};

describe('node start.ts', () => {
  beforeEach(makeDir);
  afterEach(removeDir);

  test('prints where it is and a link for the first admin, and keeps everything', async () => {
    const first = startProgram(dataDir);
    const url = await first.url();
    const link = await first.signInUrl();
    expect(link).toMatch(new RegExp(`^${url}/sign-in\\?token=`));
    const user = await signIn(link);
    const agent = await createAgent(url, user, 'bot');
    created(await user.post('/v1/secrets', { name: 'kept', value: 'CANARY-kept' }));
    const raised = created(
      await agent.post('/v1/actions/call', {
        ...{ service: 'http', method: 'POST', url: 'https://example.com/items' },
        body: { id: 1 },
      }),
    );
    first.kill('SIGINT');
    expect(await first.ended).toEqual({ code: 0, signal: null });
    expect(await processesOf(dataDir)).toEqual([]);

    await using second = startProgram(dataDir);
    const bot = withKey(await second.url(), agent.key);
    expect((await bot.get('/v1/identities/me')).body).toMatchObject({ id: agent.id, name: 'bot' });
    const approval = await bot.get(`/v1/approvals/${raised.approval_id}`);
    expect(approval.body).toMatchObject({ status: 'pending', relationship: 'self' });
    expect(second.output.stdout).not.toContain('Sign in:');
    expect(second.output.stderr).toBe('');
  });

  test('gives a new link on every start until somebody has signed in', async () => {
    const first = startProgram(dataDir);
    const old = await first.signInUrl();
    first.kill('SIGTERM');
    await first.ended;

    await using second = startProgram(dataDir);
    const link = await second.signInUrl();
    const { origin } = new URL(link);
    const user = await signIn(link);
    expect((await user.get('/v1/identities/me')).body).toMatchObject({ role: 'admin' });
    const stale = new URL(`${new URL(old).pathname}${new URL(old).search}`, origin).href;
    await expect(signIn(stale)).rejects.toThrow('410');
    await expect(signIn(link)).rejects.toThrow('410');
  });

  test('on SIGTERM answers what is under way, and leaves nothing running', async () => {
    using upstream = await startUpstream();
    await using program = startProgram(dataDir, { EGRESS_ALLOW: upstream.host });
    const user = await signIn(await program.signInUrl());
    upstream.delayMs = 1_500;
    const call = { service: 'http', method: 'POST', url: `${upstream.url}/slow`, body: {} };
    const answered = user.post('/v1/actions/call', call);
    await until(() => upstream.hits.length === 1, 'the request upstream');
    program.kill('SIGTERM');

    expect((await answered).body).toMatchObject({ status: 'called', result: { status_code: 201 } });
    expect(await program.ended).toEqual({ code: 0, signal: null });
    expect(await processesOf(dataDir)).toEqual([]);
    await expect(user.get('/v1/identities/me')).rejects.toThrow('fetch failed');
  });

  test('refuses a folder that another one uses, and does not disturb it', async () => {
    await using first = startProgram(dataDir);
    const url = await first.url();
    const second = startProgram(dataDir);

    expect(await second.ended).toEqual({ code: 1, signal: null });
    expect(second.output.stderr).toMatch(/is in use by process \d+\. Stop it first/);
    expect(second.output.stderr).toContain(`process ${first.pid}.`);
    expectSentence(second.output.stderr);
    expect((await fetch(`${url}/health/ready`)).status).toBe(200);
  });
});

describe('a wrong setting', () => {
  // One folder for all: making a database each time would be most of the time.
  beforeAll(makeDir);
  afterAll(removeDir);

  test.for<[setting: string, value: string, told: RegExp]>([
    ['PORT', 'eighty', /whole number/],
    ['PORT', '70000', /65535/],
    ['HOST', '999.1.1.1', /host name or an address/],
    ['BASE_URL', 'gateway.example.com', /http or https URL/],
    ['BASE_URL', 'http://gateway.example.com', /https/],
    ['BASE_URL', 'https://gateway.example.com/path', /a scheme, a host and a port alone/],
    ['LOG_LEVEL', 'loud', /debug/],
    ['RATE_IDENTITY_PER_MINUTE', '-1', /whole number/],
    ['EGRESS_ALLOW', 'somewhere', /host:port/],
    ['EGRESS_PROXY', 'socks://proxy', /http/],
    ['EGRESS_CA_FILE', '/no/such/file.pem', /a file that can be read/],
    ['TRUSTED_PROXIES', 'everybody', /CIDR/],
    ['TEMPLATES_DIR', '/no/such/folder', /a folder that cannot be read/],
    ['MASTER_KEY', 'not-a-key', /32 random bytes/],
    ['PERMIT_KEY', 'not-a-key', /256 random bits/],
    ['PERMIT_KEY_FILE', '/no/such/file', /a file that cannot be read/],
    ['DATABASE_URL', 'mysql://db', /postgres:\/\//],
    ['NATS_URL', 'http://nats', /nats:\/\//],
    ['DATA_DIR', '/dev/null/data', /choose another DATA_DIR/i],
    ['EGRES_ALLOW', '127.0.0.1:1', /Did you mean EGRESS_ALLOW\?/],
    ['LOG_LEVLE', 'info', /Did you mean LOG_LEVEL\?/],
    ['RATE_LIMIT', '5', /not a setting/],
  ])('stops the start: %s=%s', async ([setting, value, told]) => {
    await using program = startProgram(dataDir, { [setting]: value });

    expect(await program.ended).toEqual({ code: 1, signal: null });
    expect(program.output.stdout).toBe('');
    expect(program.output.stderr).toMatch(new RegExp(`\\b${setting}\\b`));
    expect(program.output.stderr).toMatch(told);
    if (setting.endsWith('_KEY')) expect(program.output.stderr).not.toContain(value);
    expectSentence(program.output.stderr);
    expect(await processesOf(dataDir)).toEqual([]);
  });

  test('stops the start when another program has the port', async () => {
    using upstream = await startUpstream();
    const port = new URL(upstream.url).port;
    await using program = startProgram(dataDir, { PORT: port });

    expect(await program.ended).toEqual({ code: 1, signal: null });
    expect(program.output.stderr).toContain(`PORT ${port}`);
    expectSentence(program.output.stderr);
    expect(await processesOf(dataDir)).toEqual([]);
  });

  test('is named together with all other wrong ones', async () => {
    await using program = startProgram(dataDir, { PORT: 'x', LOG_LEVEL: 'y', HOST: 'a b' });

    expect(await program.ended).toEqual({ code: 1, signal: null });
    const named = program.output.stderr
      .trim()
      .split('\n')
      .map((line) => line.split(' ')[0]);
    expect(named).toHaveLength(3);
    expect(new Set(named)).toEqual(new Set(['HOST', 'LOG_LEVEL', 'PORT']));
  });
});

/** Of a person's words, not of a programmer's. */
function expectSentence(text: string): void {
  expect(text).toMatch(/^[\w/][^\n]{20,}\n$/);
  expect(text).not.toMatch(/\bat .*:\d+|node_modules|\.ts:\d/);
}
