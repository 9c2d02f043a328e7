import { execFile } from 'node:child_process';
import { randomBytes, randomUUID } from 'node:crypto';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';

import { afterAll, beforeAll, describe, expect, test } from 'vitest';

import { connectClient } from '../../gateway/mcp/clients.testing.ts';
import { createCaller, signIn, withKey } from '../support/http.ts';
import type { Caller } from '../support/http.ts';
import { startGithubMock } from '../story/github-mock.ts';
import { playStory } from '../story/play.ts';
import { startReceiver } from '../story/receiver.ts';
import { sampleTools, startMcpServer } from '../support/mcp-server.ts';
import { startCarelessUpstream } from './canary/careless-upstream.ts';
import { startCollector } from './canary/collector.ts';
import { startRecordingProxy } from './canary/proxy.ts';
import { playAccounts, playSecrets, playTools } from './canary/scenes.ts';
import { filesBelow, formsOf, sweep } from './canary/sweep.ts';
import { openTables } from './support/database.ts';
import { choosePassword, createPerson } from './support/people.ts';
import type { Person } from './support/people.ts';
import { freePort } from './support/port.ts';
import { authorizeClient, redeem, refresh, registerClient } from './support/clients.ts';
import { adminUrlOf, endProcessesOf, startProgram } from './support/program.ts';
import { startTestProvider } from '../support/oauth-provider.ts';
import { startUpstream } from './support/upstream.ts';
import { createAgent, created, until } from './support/world.ts';

/**
 * Plays the story and calls an upstream that repeats its credential in every spelling, then looks
 * for every credential in every place that keeps or shows anything
 * (docs/reference/security.md#credentials).
 */
describe('a credential', () => {
  const stack = new AsyncDisposableStack();
  const secrets = new Map<string, string>();
  /** What the product issued itself: shown once in an answer, so only stored things are swept for it. */
  const issued = new Map<string, string>();
  const sinks = new Map<string, Buffer>();
  /** Found in every stored sink, or the sweep looks at nothing. */
  let approvalId = '';

  beforeAll(async () => {
    const dataDir = await mkdtemp(join(tmpdir(), 'aag-canary-'));
    stack.defer(() => rm(dataDir, { recursive: true, force: true, maxRetries: 5 }));
    stack.defer(() => endProcessesOf(dataDir));
    const collector = stack.use(await startCollector());
    const [github, receiver, upstream, provider, proxy, port, careless, mcp] = await Promise.all([
      startGithubMock(),
      startReceiver(),
      startUpstream(),
      startTestProvider('canary'),
      startRecordingProxy(),
      freePort(),
      startCarelessUpstream(),
      startMcpServer('stateless', sampleTools()),
    ]);
    for (const each of [receiver, upstream, provider, proxy, careless, mcp]) stack.use(each);
    stack.use(github);
    proxy.target = port;
    await using running = new AsyncDisposableStack();
    const program = startProgram(dataDir, {
      LOG_LEVEL: 'trace',
      OTEL_EXPORTER_OTLP_ENDPOINT: collector.url,
      OTEL_TRACES_SAMPLER_ARG: '1',
      PORT: String(port),
      BASE_URL: `http://127.0.0.1:${proxy.port}`,
      EGRESS_ALLOW: [github.url, receiver.url, upstream.url, provider.issuer, careless.url, mcp.url]
        .map((url) => new URL(url).host)
        .join(),
    });
    running.use(program);

    const signInUrl = await program.signInUrl();
    await playStory({ signInUrl, github, receiver, say: () => undefined });
    const tables = running.use(await openTables(await adminUrlOf(dataDir)));
    secrets.set('of the story', github.hits[0]?.authorization?.replace('Bearer ', '') ?? '');
    issued.set('webhook secret', receiver.secret ?? '');
    issued.set('sign-in link', new URL(signInUrl).searchParams.get('token') ?? '');

    const { origin } = new URL(signInUrl);
    const [{ id: orgId }] = await tables.query('select id from auth.org');
    const user = await createPerson(tables.query, origin, { orgId, name: 'ann', role: 'admin' });
    issued.set('session', user.cookie.split('=')[1] ?? '');
    const bot = await createAgent(origin, user, 'echo-bot');
    issued.set('agent key', bot.key);
    const stage = { origin, user, bot, provider, careless, mcp, secrets, issued };
    await playAccounts(stage);
    await playSecrets(stage);
    await playTools(stage);
    approvalId = await callEchoes({ user, bot, upstream });
    await provideByLink({ user, bot, upstream });
    await signInByPassword({ url: origin, user });
    await signClientIn({ url: origin, user });
    // A link that is used up: what is refused is logged too.
    await signIn(signInUrl).catch(() => undefined);

    await until(async () => {
      const rows = await tables.query('select from audit.record where approval_id = $1', [
        approvalId,
      ]);
      return rows.length >= 5;
    }, 'the audit rows');
    await rotate({ dataDir, user, url: careless.url });
    sinks.set('answers', proxy.answers());
    sinks.set('webhooks', Buffer.from(JSON.stringify(receiver.delivered)));
    for (const table of await tables.list()) {
      sinks.set(`table ${table}`, Buffer.from((await tables.dump(table)).join('\n')));
    }
    await running.disposeAsync();
    sinks.set('telemetry', collector.telemetry());
    sinks.set('stderr', Buffer.from(program.output.stderr));
    // The link is printed there for the person who started it.
    sinks.set('stdout', Buffer.from(program.output.stdout.replaceAll(/^Sign in: .*$/gm, '')));
    for (const [path, content] of await filesBelow(dataDir)) {
      sinks.set(`file ${path.slice(dataDir.length)}`, content);
    }
  }, 180_000);
  afterAll(() => stack.disposeAsync());

  /** With a key that the running executor does not have: what it says of that is logged and answered. */
  async function rotate({
    dataDir,
    user,
    url,
  }: {
    dataDir: string;
    user: Caller;
    url: string;
  }): Promise<void> {
    const { MASTER_KEY: old } = JSON.parse(await readFile(join(dataDir, 'keys.json'), 'utf8'));
    const fresh = randomBytes(32).toString('base64url');
    issued.set('master key', old).set('next master key', fresh);
    const env = { PATH: process.env['PATH'], DATA_DIR: dataDir, MASTER_KEY: `${fresh},${old}` };
    const { stdout, stderr } = await promisify(execFile)(process.execPath, ['executor/rotate.ts'], {
      env,
    });
    expect(stdout).toMatch(/^Rewrapped [1-9]/m);
    sinks.set('rotation', Buffer.from(stdout + stderr));
    const secret = { name: 'careless_header', in: 'header', key: 'x-api-key' };
    const call = { service: 'http', method: 'GET', url };
    await until(async () => {
      const reply = await user.post('/v1/actions/call', { ...call, secrets: [secret] });
      return reply.status === 503;
    }, 'the executor to lack the key');
  }

  /** Chosen, typed right, typed wrong, and typed where the address belongs. */
  async function signInByPassword({ url, user }: { url: string; user: Person }): Promise<void> {
    const account = { email: 'ann@example.com', password: `CANARY-${randomUUID()}` };
    const wrong = `CANARY-${randomUUID()}`;
    await choosePassword(url, user, account);
    const somebody = createCaller(url, {});
    await somebody.post('/v1/sign-in', { ...account, password: wrong });
    await somebody.post('/v1/sign-in', { email: account.password, password: account.email });
    const reply = await somebody.post('/v1/sign-in', account);
    const session = /=(ses_\w+)/.exec(reply.headers.get('set-cookie') ?? '')?.[1] ?? '';
    expect(session).not.toBe('');
    issued
      .set('password', account.password)
      .set('wrong password', wrong)
      .set('session by password', session);
  }

  /** A client through its whole life, and with credentials in every place where they do not belong. */
  async function signClientIn({ url, user }: { url: string; user: Person }): Promise<void> {
    const place = { url, admin: user };
    const id = await registerClient(place);
    const ask = { client_id: id };
    const first = await authorizeClient(place, ask);
    const client = await redeem(place, id, first);
    const next = await refresh(place, client);
    const unused = await authorizeClient(place, ask);
    issued
      .set('code', first.code)
      .set('unused code', unused.code)
      .set('verifier', first.verifier)
      .set('access token', client.token)
      .set('refresh token', client.refreshToken)
      .set('next access token', next.token)
      .set('next refresh token', next.refreshToken);
    created(await withKey(url, next.token).get('/v1/identities/me'));
    await connectClient(url, next.token).then((connected) => connected.client.close());

    const secret = `CANARY-${randomUUID()}`;
    issued.set('client secret', secret);
    const basic = Buffer.from(`${id}:${secret}`).toString('base64');
    const misplaced = [...issued.values()];
    for (const token of misplaced) {
      const form = { client_id: id, client_secret: secret, token, code: token };
      for (const path of ['/oauth/token', '/oauth/revoke']) {
        for (const grant of ['authorization_code', 'refresh_token', token]) {
          const body = new URLSearchParams({ ...form, grant_type: grant, refresh_token: secret });
          const headers = { authorization: grant === token ? `Basic ${basic}` : `Bearer ${token}` };
          await (await fetch(`${url}${path}`, { method: 'POST', headers, body })).text();
        }
      }
      await withKey(url, token).get('/v1/identities/me');
      await withKey(url, token).get(`/v1/identities/me?access_token=${encodeURIComponent(token)}`);
      const wrong = { client_id: id, code_challenge: token, scope: token, prompt: token };
      await (await fetch(`${url}/oauth/authorize?${new URLSearchParams(wrong).toString()}`)).text();
    }
  }

  /** Asked for by an agent, looked at, mistyped, entered, and used; and a link that nobody opens. */
  async function provideByLink({
    user,
    bot,
    upstream,
  }: {
    user: Caller;
    bot: Caller;
    upstream: { readonly url: string; readonly host: string };
  }): Promise<void> {
    const ask = async (name: string) => {
      const wish = { name, reason: 'For the sweep', allowed_hosts: [upstream.host] };
      const { provide_url: link } = created(await bot.post('/v1/secrets/requests', wish));
      const token = new URL(link).pathname.split('/').at(-1) ?? '';
      issued.set(`link for ${name}`, token);
      return `/v1/provide/${token}`;
    };
    const path = await ask('provided_key');
    await ask('never_provided');
    const [mistyped, value] = [`CANARY-${randomUUID()}\n`, `CANARY-${randomUUID()}`];
    secrets.set('mistyped', mistyped.trim()).set('provided', value);
    created(await user.get(path));
    const hosts = { allowed_hosts: [upstream.host] };
    expect((await user.post(path, { value: mistyped, ...hosts })).status).toBe(400);
    const { id } = created(await user.post(path, { value, ...hosts }));
    // Refused in every way, with the value in hand.
    for (const caller of [user, bot]) await caller.post(path, { value, ...hosts });

    const { id: restored } = created(await user.get('/v1/secrets')).items.find(
      ({ name }: { name: string }) => name === 'header_key',
    );
    created(await user.post(`/v1/secrets/${restored}/versions/1/restore`));
    created(await user.patch(`/v1/secrets/${id}`, { description: 'Swept for' }));
    for (const name of ['provided_key', 'header_key']) {
      const secret = { name, in: 'header', key: 'authorization', prefix: 'Bearer ' };
      const call = { service: 'http', method: 'POST', url: `${upstream.url}/echo`, body: {} };
      created(await user.post('/v1/actions/call', { ...call, secrets: [secret] }));
    }
    created(await user.get(`/v1/secrets/${restored}/versions`));
    created(await user.get('/v1/audit?limit=200'));
  }

  /** Calls that suspend, run, fail and are refused, each with an answer that repeats its credential. */
  async function callEchoes({
    user,
    bot,
    upstream,
  }: {
    user: Caller;
    bot: Caller;
    upstream: { readonly url: string; readonly host: string };
  }): Promise<string> {
    const store = async (name: string, value: string) => {
      secrets.set(`${name} ${secrets.size}`, value);
      created(await user.post('/v1/secrets', { name, value, allowed_hosts: [upstream.host] }));
    };
    await store('header_key', `CANARY-${randomUUID()}/+="x"`);
    await store('query_key', `CANARY-${randomUUID()}&=?ü`);
    const call = (name: string, place: object, method: string) => ({
      service: 'http',
      method,
      url: `${upstream.url}/echo`,
      secrets: [{ name, ...place }],
      ...(method === 'POST' && { body: { text: 'said' } }),
    });
    const inHeader = { in: 'header', key: 'authorization', prefix: 'Bearer ' };
    const inQuery = { in: 'query', key: 'key' };
    for (const [name, place] of [
      ['header_key', inHeader],
      ['query_key', inQuery],
    ] as const) {
      for (const method of ['GET', 'POST']) {
        expect(
          created(await user.post('/v1/actions/call', call(name, place, method))),
        ).toMatchObject({
          status: 'called',
          result: { status_code: 200 },
        });
      }
    }
    const filtered = { ...call('header_key', inHeader, 'GET'), filter: '.sentence, .base64' };
    created(await user.post('/v1/actions/call', filtered));
    created(await user.post('/v1/actions/call', { ...filtered, filter: '.sentence | error' }));
    const elsewhere = { ...call('query_key', inQuery, 'GET'), url: 'https://127.0.0.1:9/' };
    expect((await user.post('/v1/actions/call', elsewhere)).status).toBeGreaterThanOrEqual(400);

    await store('header_key', `CANARY-${randomUUID()}-next-version`);
    const raised = created(
      await bot.post('/v1/actions/call', call('header_key', inHeader, 'POST')),
    );
    const path = `/v1/approvals/${raised.approval_id}`;
    created(await user.post(`${path}/resolve`, { resolution: 'allow' }));
    await until(
      async () => (await user.get(path)).body.execution.status === 'executed',
      'the replay',
    );
    for (const list of [
      'secrets',
      'audit',
      'approvals',
      'rules',
      'services',
      'webhooks',
      'identities',
    ]) {
      created(await user.get(`/v1/${list}?limit=200`));
    }
    return raised.approval_id;
  }

  test('is found where it was sent, in every form, by a sweep that works', () => {
    for (const [name, value] of secrets) {
      expect(value, name).toMatch(/^(code|verifier) of/.test(name) ? /^.{20,}$/ : /^CANARY-/);
      for (const bytes of formsOf(value).values()) {
        const padded = Buffer.concat([Buffer.from('xx'), bytes, Buffer.from('xx')]);
        expect(sweep(padded, new Map([['it', value]]))).not.toEqual([]);
      }
    }
    const known = new Map([['approval', approvalId]]);
    expect(sinks.get('telemetry')?.toString()).toMatch(/"execution"/);
    const where = [...sinks]
      .filter(([, sink]) => sweep(sink, known).length > 0)
      .map(([name]) => name);
    expect(where).toEqual(
      expect.arrayContaining([
        'answers',
        'stdout',
        'webhooks',
        'table approvals.approval',
        'table audit.record',
        expect.stringMatching(/^file \/nats\/jetstream\/.*\.blk$/),
        expect.stringMatching(/^file \/postgres\/data\/pg_wal\//),
      ]),
    );
  });

  test('of the vault is in no table, file, stream, log, webhook or answer', () => {
    const leaks = [...sinks].flatMap(([name, sink]) =>
      sweep(sink, secrets).map((leak) => ({ sink: name, ...leak })),
    );
    expect(leaks).toEqual([]);
    // The upstream did repeat them: what came through is marked.
    expect(sinks.get('answers')?.includes('[REDACTED]')).toBe(true);
    expect(sinks.get('table approvals.execution')?.includes('[REDACTED]')).toBe(true);
  });

  test('that was issued is shown once and kept nowhere', () => {
    // Keys that are made at the first start are in their file.
    const shown = ['answers', 'file /keys.json'];
    const kept = [...sinks].filter(([name]) => !shown.includes(name));
    const leaks = kept.flatMap(([name, sink]) =>
      sweep(sink, issued).map((leak) => ({ sink: name, ...leak })),
    );
    expect(leaks).toEqual([]);
    const answers = sinks.get('answers') ?? Buffer.alloc(0);
    for (const name of [
      'agent key',
      'webhook secret',
      'session',
      'session by password',
      'access token',
      'refresh token',
      'next access token',
      'next refresh token',
      'link for provided_key',
      'link for never_provided',
    ]) {
      const bytes = Buffer.from(issued.get(name) ?? '');
      expect(answers.indexOf(bytes), name).toBeGreaterThan(0);
      expect(answers.indexOf(bytes), name).toBe(answers.lastIndexOf(bytes));
    }
  });
});
