import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';

import { callToolByMcp } from './escalation/ways.ts';
import { authorize, openProvider } from '../support/account.ts';
import type { Account, Provider } from '../support/account.ts';
import type { Person } from '../support/people.ts';
import { templateDocument } from '../support/template.ts';
import { createAgent, successfulBodyOf, startWorld, pollUntil } from '../support/world.ts';
import type { Agent, World } from '../support/world.ts';

/**
 * Calls that use a person's connected account: by action, by HTTP method and path, and by full URL.
 */
describe('an agent whose user has connected an account', () => {
  const stack = new AsyncDisposableStack();
  let world: World;
  let provider: Provider;
  let mia: Person;
  let bot: Agent;
  let account: Account;

  const readHits = () => world.upstream.hits;
  const callPath = '/v1/actions/call';
  const httpPath = '/v1/actions/http';
  const readCall = { service: 'notes', action: 'list_notes' };
  const createWriteCall = (title: string) => ({
    service: 'notes',
    action: 'create_note',
    params: { title },
  });
  const createRawCall = (more: object = {}) => ({
    connection: 'work',
    method: 'GET',
    url: `${world.upstream.url}/raw`,
    ...more,
  });
  const tokenOfVersion = (version: number) => `CANARY-work-v${version}`;
  const grantOfVersion = (version: number, ...scopes: string[]) => ({
    token: tokenOfVersion(version),
    scopes,
  });
  const allowPattern = async (pattern: string) =>
    successfulBodyOf(
      await mia.post('/v1/rules', { identity_id: bot.id, effect: 'allow', pattern }),
    );

  /**
   * Repeats a dry run of the call until it has this result, because policy learns of changes from
   * events, a moment later.
   */
  const untilAnsweredWith = (body: object, expectedResult: string) =>
    pollUntil(async () => {
      const dryRunBody = (await bot.post('/v1/actions/validate', body)).body;
      return [dryRunBody.error, dryRunBody.outcome].includes(expectedResult);
    }, expectedResult);

  beforeAll(async () => {
    world = stack.use(await startWorld({ EGRESS_ALLOW: '127.0.0.1/32' }));
    const { admin, upstream, url } = world;
    provider = stack.use(await openProvider(admin));
    mia = await world.person({ orgId: admin.orgId, name: 'mia', role: 'member' });
    bot = await createAgent(url, mia, 'bot');
    const openapi = withAccount(templateDocument('notes', upstream.url), provider.issuer);
    successfulBodyOf(await mia.post('/v1/templates', { openapi }));
    successfulBodyOf(await mia.post('/v1/templates/notes/publish', { version: 1 }));
    const body = { template: 'notes', scopes: ['read'] };
    account = await provider.connect({
      name: 'work',
      owner: mia,
      body,
      ...grantOfVersion(1, 'read'),
    });
    const credentials = { connection: 'work' };
    successfulBodyOf(await mia.post('/v1/services', { template: 'notes', credentials }));
  });
  afterAll(() => stack.disposeAsync());
  beforeEach(() => {
    world.upstream.knownTokens = null;
    world.upstream.scopeLacking = null;
  });

  test('reads with the account’s token, which no answer contains', async () => {
    const service = successfulBodyOf(await mia.get('/v1/services/notes'));
    expect(service).toMatchObject({ status: 'ready', credentials: { connection: 'work' } });

    const { body } = await bot.post(callPath, readCall);
    expect(body).toMatchObject({ status: 'called', result: { status_code: 200 } });
    expect(readHits().at(-1)?.headers.authorization).toBe(`Bearer ${tokenOfVersion(1)}`);
    const echoReply = await mia.post(
      httpPath,
      createRawCall({ url: `${world.upstream.url}/echo` }),
    );
    expect(echoReply.body.result.body.headers.authorization).toBe('Bearer [REDACTED]');
    expect(JSON.stringify(echoReply.body)).not.toContain('CANARY');
    const searchAnswer = successfulBodyOf(await bot.get('/v1/search?q=list%20notes'));
    expect(searchAnswer.items[0].auth).toEqual({ type: 'oauth2', connected: true });
  });

  test('has its read repeated with a refreshed token when the upstream refuses the token', async () => {
    world.upstream.knownTokens = [tokenOfVersion(2)];
    account.grants(grantOfVersion(2, 'read'));
    const hitsBefore = readHits().length;

    expect((await bot.post(callPath, readCall)).body.result.status_code).toBe(200);
    const hitsSince = readHits().slice(hitsBefore);
    expect(hitsSince.map(({ headers }) => headers.authorization)).toEqual([
      `Bearer ${tokenOfVersion(1)}`,
      `Bearer ${tokenOfVersion(2)}`,
    ]);
  });

  test('is told which OAuth scope is missing and where to add it, before any person is asked', async () => {
    const hitsBefore = readHits().length;
    for (const caller of [bot, mia]) {
      const { status, body } = await caller.post(callPath, createWriteCall('too early'));
      expect([status, body.error, body.missing]).toEqual([403, 'missing_scopes', ['write']]);
      expect(body.connection_id).toBe(account.id);
    }
    expect(successfulBodyOf(await mia.get('/v1/approvals?status=open')).items).toEqual([]);
    expect(readHits().length).toBe(hitsBefore);

    const { auth_url, next } = (await bot.post(callPath, createWriteCall('too early'))).body;
    expect(next.body).toEqual({ connection: account.id, scopes: ['write'] });
    const { pathname, search } = new URL(auth_url);
    const gatePath = (await mia.get(pathname + search)).headers.get('location') ?? '';
    expect((await mia.get(gatePath)).body).toContain('write');
    await account.regrant(grantOfVersion(3, 'read', 'write'), () =>
      authorize(mia, world.url + gatePath),
    );
    await untilAnsweredWith(createWriteCall('now'), 'would_require_approval');
    expect((await bot.post(callPath, createWriteCall('now'))).body.status).toBe('pending_approval');
  });

  test('can request the scopes that the upstream reports as missing, over REST and over MCP', async () => {
    world.upstream.scopeLacking = 'write';
    const { failure } = successfulBodyOf(await bot.post(callPath, readCall)).result;
    expect(failure).toMatchObject({ kind: 'forbidden', missing_scopes: ['write'] });
    const { method, path, body } = failure.next;
    expect([method, path]).toEqual(['POST', '/v1/connections']);
    const requestedConnection = successfulBodyOf(await bot.post(path, body));
    expect(requestedConnection).toMatchObject({
      id: account.id,
      authorization_url: expect.any(String),
    });

    const read403 = await callToolByMcp(world.url, bot.key, 'service_read', readCall);
    const { next } = read403.body.result.failure;
    const answer = await callToolByMcp(world.url, bot.key, next.tool, next.arguments);
    expect(answer.body).toMatchObject({ request_id: requestedConnection.request_id });
    successfulBodyOf(await mia.post(`/v1/requests/${requestedConnection.request_id}/decline`, {}));

    world.upstream.scopeLacking = 'admin';
    const unlisted = successfulBodyOf(await bot.post(callPath, readCall)).result.failure;
    expect(unlisted).toMatchObject({ missing_scopes: ['admin'] });
    expect(unlisted.next).toBeUndefined();
  });

  test('sends an allowed write with the account’s current token', async () => {
    const { approval_id } = (await bot.post(callPath, createWriteCall('allowed'))).body;
    await account.refresh(grantOfVersion(4, 'read', 'write'));
    await pollUntil(async () => {
      await bot.post(callPath, readCall);
      return readHits().at(-1)?.headers.authorization === `Bearer ${tokenOfVersion(4)}`;
    }, 'the new token');
    successfulBodyOf(
      await mia.post(`/v1/approvals/${approval_id}/resolve`, { resolution: 'allow' }),
    );

    await pollUntil(() => readHits().at(-1)?.body.includes('allowed') === true, 'the replay');
    expect(readHits().at(-1)?.headers.authorization).toBe(`Bearer ${tokenOfVersion(4)}`);
  });

  test('needs permission for both the URL and the connection to call a URL with the account', async () => {
    const { host } = world.upstream;
    const keys = [`http:GET:${host}/raw`, `connection:work:${host}`];
    const pendingAnswer = await bot.post(httpPath, createRawCall());
    expect([pendingAnswer.status, pendingAnswer.body.permission_keys]).toEqual([202, keys]);
    const verbCall = { service: 'notes', method: 'GET', path: '/raw' };
    expect((await bot.post(callPath, verbCall)).body.permission_keys).toEqual(keys);

    await allowPattern(keys[0] ?? '');
    const dryRunBody = successfulBodyOf(await bot.post('/v1/actions/validate', createRawCall()));
    expect(dryRunBody).toMatchObject({
      outcome: 'would_require_approval',
      permission_keys: keys,
      uncovered_keys: [keys[1]],
    });
    await allowPattern(keys[1] ?? '');
    for (const [path, body] of [
      [httpPath, createRawCall()],
      [callPath, verbCall],
    ] as const) {
      expect((await bot.post(path, body)).body.status).toBe('called');
      expect(readHits().at(-1)).toMatchObject({ url: '/raw' });
    }
  });

  test('cannot use the account at another host, and neither can its user', async () => {
    const hitsBefore = readHits().length;
    for (const caller of [bot, mia]) {
      for (const url of ['https://evil.example/raw', 'https://api.acme.example.evil.example/']) {
        const { status, body } = await caller.post(httpPath, createRawCall({ url }));
        expect([status, body.error]).toEqual([403, 'host_not_allowed']);
      }
    }
    const otherUsersAgent = await createAgent(world.url, world.admin, 'others');
    for (const caller of [otherUsersAgent, world.admin]) {
      const { status, body } = await caller.post(httpPath, createRawCall());
      expect([status, body.error, body.connection]).toEqual([424, 'credential_missing', 'work']);
    }
    expect(readHits().length).toBe(hitsBefore);
  });

  test('calls a URL once per idempotency key, and is stopped by deny rules for the service at the URL', async () => {
    await allowPattern(`http:ANY:${world.upstream.host}/**`);
    const postCall = createRawCall({
      method: 'POST',
      url: `${world.upstream.url}/once`,
      body: { a: 1 },
    });
    const hitsBefore = readHits().length;
    const [first, second] = [
      await bot.post(httpPath, postCall, { 'idempotency-key': 'once' }),
      await bot.post(httpPath, postCall, { 'idempotency-key': 'once' }),
    ];
    expect(first.body.status).toBe('called');
    expect(second.body.audit_id).toBe(first.body.audit_id);
    expect(readHits().length).toBe(hitsBefore + 1);

    const denyRule = { identity_id: bot.id, effect: 'deny', pattern: 'notes:list_notes:*' };
    const rule = successfulBodyOf(await mia.post('/v1/rules', denyRule));
    const listingReply = await bot.post(
      httpPath,
      createRawCall({ url: `${world.upstream.url}/notes` }),
    );
    expect(listingReply.body.status).toBe('denied');
    expect(readHits().length).toBe(hitsBefore + 1);
    await mia.delete(`/v1/rules/${rule.id}`);
  });

  // This test runs last, because it revokes the account.
  test('is told where to reconnect its account when the provider has revoked it', async () => {
    await account.lose();
    await untilAnsweredWith(readCall, 'reauth_required');
    const hitsBefore = readHits().length;
    for (const [path, body] of [
      [callPath, readCall],
      [callPath, createWriteCall('too late')],
      [httpPath, createRawCall()],
    ] as const) {
      const { status, body: refusal } = await bot.post(path, body);
      expect([status, refusal.error]).toEqual([424, 'reauth_required']);
      expect(refusal).toMatchObject({
        connection_id: account.id,
        auth_url: `${world.url}/connect/repair/${account.id}`,
      });
    }
    expect(readHits().length).toBe(hitsBefore);
    const pendingAnswer = { operation: 'service_status', service: 'notes' };
    const { body } = await callToolByMcp(world.url, bot.key, 'service_auth', pendingAnswer);
    const auth_url = `${world.url}/connect/repair/${account.id}`;
    const missing = [{ kind: 'connection', name: account.name, status: 'needs_reauth', auth_url }];
    expect(body).toMatchObject({ services: [{ name: 'notes', status: 'needs_reauth', missing }] });
    expect(successfulBodyOf(await bot.get('/v1/services/notes')).missing).toEqual(missing);

    successfulBodyOf(await mia.delete(`/v1/connections/${account.id}`));
    await untilAnsweredWith(readCall, 'credential_missing');
    await untilAnsweredWith(readCall, 'credential_missing');
    const { missing: gone } = successfulBodyOf(await bot.get('/v1/services/notes'));
    expect(gone).toEqual([{ kind: 'connection', name: account.name, status: 'absent' }]);
  });
});

/**
 * The example template, changed so that its credential is a connection at the provider Acme. Its
 * writes need a separate OAuth scope, which is also enough for its reads.
 */
function withAccount(document: string, issuer: string): string {
  return document
    .replace(
      /token: \{ type: http.*/,
      `account:
      type: oauth2
      provider: acme
      flows:
        authorizationCode:
          authorizationUrl: ${issuer}/authorize
          tokenUrl: ${issuer}/token
          scopes: { read: Read notes, write: Write notes }`,
    )
    .replace(
      'operationId: list_notes,',
      'operationId: list_notes, security: [{ account: [read] }, { account: [write] }],',
    )
    .replace('summary: Write', 'security: [{ account: [write] }]\n      summary: Write');
}
