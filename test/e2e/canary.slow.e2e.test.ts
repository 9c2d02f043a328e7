import { execFile } from 'node:child_process';
import { randomBytes, randomUUID } from 'node:crypto';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';

import { afterAll, beforeAll, describe, expect, test } from 'vitest';

import { connectClient } from '../../gateway/mcp/clients.testing.ts';
import { createCaller, signIn, createCallerWithKey } from '../support/http.ts';
import type { Caller } from '../support/http.ts';
import { startGithubMock } from '../story/github-mock.ts';
import { playStory } from '../story/play.ts';
import { startReceiver } from '../story/receiver.ts';
import { createSampleTools, startMcpServer } from '../support/mcp-server.ts';
import { programEnv } from '../support/program-env.ts';
import { startCarelessUpstream } from './canary/careless-upstream.ts';
import { startCollector } from '../support/collector.ts';
import { startRecordingProxy } from './canary/proxy.ts';
import { playAccounts, playSecrets, playTools } from './canary/scenes.ts';
import { recordStreams } from './canary/stream-recorder.ts';
import { filesBelow, formsOf, sweep } from './canary/sweep.ts';
import { openTables } from '../support/database.ts';
import { choosePassword, createPerson } from '../support/people.ts';
import type { Person } from '../support/people.ts';
import { lastingPort } from '../../services-src/embedded/index.ts';
import { authorizeClient, redeemCode, refreshTokens, registerClient } from '../support/clients.ts';
import { adminUrlOf, endProcessesOf, startProgram } from '../support/program.ts';
import { startTestProvider } from '../support/oauth-provider.ts';
import { startUpstream } from '../support/upstream.ts';
import { createAgent, successfulBodyOf, pollUntil } from '../support/world.ts';

/**
 * Plays the product's main use case, and calls an upstream that repeats the received credential in
 * every encoding. Then it searches every place that stores or shows data for every credential
 * (docs/reference/security.md#credentials).
 */
describe('a credential', () => {
  const stack = new AsyncDisposableStack();
  const secrets = new Map<string, string>();
  /**
   * Credentials that the product issued. Each of them is shown in one answer, so the test searches
   * for them only in stored data.
   */
  const issued = new Map<string, string>();
  const sinks = new Map<string, Buffer>();
  /**
   * The id of an approval. The test also searches for this id in the places that must contain it:
   * if it were not found, the search would look in the wrong place and prove nothing.
   */
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
      lastingPort(),
      startCarelessUpstream(),
      startMcpServer('stateless', createSampleTools()),
    ]);
    for (const each of [receiver, upstream, provider, proxy, careless, mcp]) stack.use(each);
    stack.use(github);
    proxy.targetPort = port;
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
    const streamRecorder = running.use(recordStreams(dataDir));

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
    // Uses the sign-in link a second time. The program logs the refusal, so the link could leak
    // into the log.
    await signIn(signInUrl).catch(() => undefined);

    await pollUntil(async () => {
      const rows = await tables.query('select from audit.record where approval_id = $1', [
        approvalId,
      ]);
      return rows.length >= 5;
    }, 'the audit rows');
    await rotateMasterKey({ dataDir, user, url: careless.url });
    sinks.set('answers', proxy.answers());
    sinks.set('webhooks', Buffer.from(JSON.stringify(receiver.receivedEvents)));
    for (const table of await tables.list()) {
      sinks.set(`table ${table}`, Buffer.from((await tables.dump(table)).join('\n')));
    }
    await running.disposeAsync();
    sinks.set('streams', streamRecorder.readRecordedBytes());
    sinks.set('telemetry', collector.telemetry());
    sinks.set('stderr', Buffer.from(program.output.stderr));
    // The search leaves out the sign-in link, which the program prints to stdout on purpose for the
    // person who started it.
    sinks.set('stdout', Buffer.from(program.output.stdout.replaceAll(/^Sign in: .*$/gm, '')));
    for (const [path, content] of await filesBelow(dataDir)) {
      sinks.set(`file ${path.slice(dataDir.length)}`, content);
    }
  }, 600_000);
  afterAll(() => stack.disposeAsync());

  /**
   * Rotates to a master key that the running executor does not have, so that the executor logs
   * errors and answers with them.
   */
  async function rotateMasterKey({
    dataDir,
    user,
    url,
  }: {
    dataDir: string;
    user: Caller;
    url: string;
  }): Promise<void> {
    const { MASTER_KEY: oldMasterKey } = JSON.parse(
      await readFile(join(dataDir, 'keys.json'), 'utf8'),
    );
    const newMasterKey = randomBytes(32).toString('base64url');
    issued.set('master key', oldMasterKey).set('next master key', newMasterKey);
    const env = { ...programEnv, DATA_DIR: dataDir, MASTER_KEY: `${newMasterKey},${oldMasterKey}` };
    const { stdout, stderr } = await promisify(execFile)(process.execPath, ['executor/rotate.ts'], {
      env,
    });
    expect(stdout).toMatch(/^Rewrapped [1-9]/m);
    sinks.set('rotation', Buffer.from(stdout + stderr));
    const secret = { name: 'careless_header', in: 'header', key: 'x-api-key' };
    const call = { service: 'http', method: 'GET', url };
    await pollUntil(async () => {
      const reply = await user.post('/v1/actions/call', { ...call, secrets: [secret] });
      return reply.status === 503;
    }, 'the executor to lack the key');
  }

  /**
   * Chooses a password, then tries to sign in with a wrong password and with the password in the
   * field of the e-mail address, and finally signs in.
   */
  async function signInByPassword({ url, user }: { url: string; user: Person }): Promise<void> {
    const account = { email: 'ann@example.com', password: `CANARY-${randomUUID()}` };
    const wrong = `CANARY-${randomUUID()}`;
    await choosePassword(url, user, account);
    const anonymousCaller = createCaller(url, {});
    await anonymousCaller.post('/v1/sign-in', { ...account, password: wrong });
    await anonymousCaller.post('/v1/sign-in', { email: account.password, password: account.email });
    const reply = await anonymousCaller.post('/v1/sign-in', account);
    const session = /=(ses_\w+)/.exec(reply.headers.get('set-cookie') ?? '')?.[1] ?? '';
    expect(session).not.toBe('');
    issued
      .set('password', account.password)
      .set('wrong password', wrong)
      .set('session by password', session);
  }

  /**
   * Registers an OAuth client, uses its codes and tokens, and sends its credentials in many fields
   * where they do not belong.
   */
  async function signClientIn({ url, user }: { url: string; user: Person }): Promise<void> {
    const place = { url, admin: user };
    const id = await registerClient(place);
    const authorizationRequest = { client_id: id };
    const firstAuthorization = await authorizeClient(place, authorizationRequest);
    const client = await redeemCode(place, id, firstAuthorization);
    const refreshedTokens = await refreshTokens(place, client);
    const unusedCode = await authorizeClient(place, authorizationRequest);
    issued
      .set('code', firstAuthorization.code)
      .set('unused code', unusedCode.code)
      .set('verifier', firstAuthorization.verifier)
      .set('access token', client.token)
      .set('refresh token', client.refreshToken)
      .set('next access token', refreshedTokens.token)
      .set('next refresh token', refreshedTokens.refreshToken);
    successfulBodyOf(
      await createCallerWithKey(url, refreshedTokens.token).get('/v1/identities/me'),
    );
    await connectClient(url, refreshedTokens.token).then((connected) => connected.client.close());

    const secret = `CANARY-${randomUUID()}`;
    issued.set('client secret', secret);
    const basicCredential = Buffer.from(`${id}:${secret}`).toString('base64');
    const misplacedTokens = [...issued.values()];
    for (const token of misplacedTokens) {
      const form = { client_id: id, client_secret: secret, token, code: token };
      for (const path of ['/oauth/token', '/oauth/revoke']) {
        for (const grant of ['authorization_code', 'refresh_token', token]) {
          const body = new URLSearchParams({ ...form, grant_type: grant, refresh_token: secret });
          const headers = {
            authorization: grant === token ? `Basic ${basicCredential}` : `Bearer ${token}`,
          };
          await (await fetch(`${url}${path}`, { method: 'POST', headers, body })).text();
        }
      }
      await createCallerWithKey(url, token).get('/v1/identities/me');
      await createCallerWithKey(url, token).get(
        `/v1/identities/me?access_token=${encodeURIComponent(token)}`,
      );
      const wrong = { client_id: id, code_challenge: token, scope: token, prompt: token };
      await (await fetch(`${url}/oauth/authorize?${new URLSearchParams(wrong).toString()}`)).text();
    }
  }

  /**
   * An agent asks for a secret. A person opens the link, mistypes the value and then enters it, and
   * the agent uses the secret. No one opens the link of a second request.
   */
  async function provideByLink({
    user,
    bot,
    upstream,
  }: {
    user: Caller;
    bot: Caller;
    upstream: { readonly url: string; readonly host: string };
  }): Promise<void> {
    const requestSecret = async (name: string) => {
      const secretRequest = { name, reason: 'For the sweep', allowed_hosts: [upstream.host] };
      const { provide_url: link } = successfulBodyOf(
        await bot.post('/v1/secrets/requests', secretRequest),
      );
      const token = new URL(link).pathname.split('/').at(-1) ?? '';
      issued.set(`link for ${name}`, token);
      return `/v1/provide/${token}`;
    };
    const path = await requestSecret('provided_key');
    await requestSecret('never_provided');
    const [mistyped, value] = [`CANARY-${randomUUID()}\n`, `CANARY-${randomUUID()}`];
    secrets.set('mistyped', mistyped.trim()).set('provided', value);
    successfulBodyOf(await user.get(path));
    const hosts = { allowed_hosts: [upstream.host] };
    expect((await user.post(path, { value: mistyped, ...hosts })).status).toBe(400);
    const { id } = successfulBodyOf(await user.post(path, { value, ...hosts }));
    // The link was used, so the gateway must refuse these requests, which carry the value.
    for (const caller of [user, bot]) await caller.post(path, { value, ...hosts });

    const { id: restored } = successfulBodyOf(await user.get('/v1/secrets')).items.find(
      ({ name }: { name: string }) => name === 'header_key',
    );
    successfulBodyOf(await user.post(`/v1/secrets/${restored}/versions/1/restore`));
    successfulBodyOf(await user.patch(`/v1/secrets/${id}`, { description: 'Swept for' }));
    for (const name of ['provided_key', 'header_key']) {
      const secret = { name, in: 'header', key: 'authorization', prefix: 'Bearer ' };
      const call = { service: 'http', method: 'POST', url: `${upstream.url}/echo`, body: {} };
      successfulBodyOf(await user.post('/v1/actions/call', { ...call, secrets: [secret] }));
    }
    successfulBodyOf(await user.get(`/v1/secrets/${restored}/versions`));
    successfulBodyOf(await user.get('/v1/audit?limit=200'));
  }

  /**
   * Makes calls that are suspended, run, fail or are refused. Each answer of the upstream repeats
   * the call's credential.
   */
  async function callEchoes({
    user,
    bot,
    upstream,
  }: {
    user: Caller;
    bot: Caller;
    upstream: { readonly url: string; readonly host: string };
  }): Promise<string> {
    const storeSecret = async (name: string, value: string) => {
      secrets.set(`${name} ${secrets.size}`, value);
      successfulBodyOf(
        await user.post('/v1/secrets', { name, value, allowed_hosts: [upstream.host] }),
      );
    };
    await storeSecret('header_key', `CANARY-${randomUUID()}/+="x"`);
    await storeSecret('query_key', `CANARY-${randomUUID()}&=?ü`);
    const call = (name: string, place: object, method: string) => ({
      service: 'http',
      method,
      url: `${upstream.url}/echo`,
      secrets: [{ name, ...place }],
      ...(method === 'POST' && { body: { text: 'said' } }),
    });
    const headerPlacement = { in: 'header', key: 'authorization', prefix: 'Bearer ' };
    const queryPlacement = { in: 'query', key: 'key' };
    for (const [name, place] of [
      ['header_key', headerPlacement],
      ['query_key', queryPlacement],
    ] as const) {
      for (const method of ['GET', 'POST']) {
        expect(
          successfulBodyOf(await user.post('/v1/actions/call', call(name, place, method))),
        ).toMatchObject({
          status: 'called',
          result: { status_code: 200 },
        });
      }
    }
    const filteredCall = {
      ...call('header_key', headerPlacement, 'GET'),
      filter: '.sentence, .base64',
    };
    successfulBodyOf(await user.post('/v1/actions/call', filteredCall));
    successfulBodyOf(
      await user.post('/v1/actions/call', { ...filteredCall, filter: '.sentence | error' }),
    );
    const callElsewhere = {
      ...call('query_key', queryPlacement, 'GET'),
      url: 'https://127.0.0.1:9/',
    };
    expect((await user.post('/v1/actions/call', callElsewhere)).status).toBeGreaterThanOrEqual(400);

    await storeSecret('header_key', `CANARY-${randomUUID()}-next-version`);
    const raisedApproval = successfulBodyOf(
      await bot.post('/v1/actions/call', call('header_key', headerPlacement, 'POST')),
    );
    const path = `/v1/approvals/${raisedApproval.approval_id}`;
    successfulBodyOf(await user.post(`${path}/resolve`, { resolution: 'allow' }));
    await pollUntil(
      async () => (await user.get(path)).body.execution.status === 'executed',
      'the replay',
    );
    for (const listName of [
      'secrets',
      'audit',
      'approvals',
      'rules',
      'services',
      'webhooks',
      'identities',
    ]) {
      successfulBodyOf(await user.get(`/v1/${listName}?limit=200`));
    }
    return raisedApproval.approval_id;
  }

  test('is found by the search in every form in which the test sent it', () => {
    for (const [name, value] of secrets) {
      expect(value, name).toMatch(/^(code|verifier) of/.test(name) ? /^.{20,}$/ : /^CANARY-/);
      for (const bytes of formsOf(value).values()) {
        const padded = Buffer.concat([Buffer.from('xx'), bytes, Buffer.from('xx')]);
        expect(sweep(padded, new Map([['it', value]]))).not.toEqual([]);
      }
    }
    const knownIds = new Map([['approval', approvalId]]);
    expect(sinks.get('telemetry')?.toString()).toMatch(/"execution"/);
    const sinksSearched = [...sinks]
      .filter(([, sink]) => sweep(sink, knownIds).length > 0)
      .map(([name]) => name);
    expect(sinksSearched).toEqual(
      expect.arrayContaining([
        'answers',
        'stdout',
        'streams',
        'webhooks',
        'table approvals.approval',
        'table audit.record',
        expect.stringMatching(/^file \/postgres\/data\/pg_wal\//),
      ]),
    );
  });

  test('appears in no table, file, stream, log, webhook or answer when it belongs to the vault', () => {
    const leaks = [...sinks].flatMap(([name, sink]) =>
      sweep(sink, secrets).map((leak) => ({ sink: name, ...leak })),
    );
    expect(leaks).toEqual([]);
    // `[REDACTED]` in the answers shows that the upstream did repeat credentials.
    expect(sinks.get('answers')?.includes('[REDACTED]')).toBe(true);
    expect(sinks.get('table approvals.execution')?.includes('[REDACTED]')).toBe(true);
  });

  test('is shown once and stored nowhere when the product issued it', () => {
    // The places that may contain an issued credential: the answers, and the file with the keys
    // that the first start generates.
    const namesOfShownSinks = ['answers', 'file /keys.json'];
    const keptSinks = [...sinks].filter(([name]) => !namesOfShownSinks.includes(name));
    const leaks = keptSinks.flatMap(([name, sink]) =>
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
