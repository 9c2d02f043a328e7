import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';

import { useTool } from './escalation/ways.ts';
import { authorize, openProvider } from './support/account.ts';
import type { Account, Provider } from './support/account.ts';
import type { Person } from './support/people.ts';
import { templateDocument } from './support/template.ts';
import { createAgent, created, startWorld, until } from './support/world.ts';
import type { Agent, World } from './support/world.ts';

/** Calls with the account of a person: as an action, by method and path, and to a URL. */
describe('an agent with an account', () => {
  const stack = new AsyncDisposableStack();
  let world: World;
  let provider: Provider;
  let mia: Person;
  let bot: Agent;
  let account: Account;

  const hits = () => world.upstream.hits;
  const call = '/v1/actions/call';
  const http = '/v1/actions/http';
  const read = { service: 'notes', action: 'list_notes' };
  const write = (title: string) => ({ service: 'notes', action: 'create_note', params: { title } });
  const raw = (more: object = {}) => ({
    connection: 'work',
    method: 'GET',
    url: `${world.upstream.url}/raw`,
    ...more,
  });
  const token = (version: number) => `CANARY-work-v${version}`;
  const grant = (version: number, ...scopes: string[]) => ({ token: token(version), scopes });
  const allow = async (pattern: string) =>
    created(await mia.post('/v1/rules', { identity_id: bot.id, effect: 'allow', pattern }));

  /** What others were told of a change reaches policy a moment later. */
  const untilTold = (body: object, told: string) =>
    until(async () => {
      const tried = (await bot.post('/v1/actions/validate', body)).body;
      return [tried.error, tried.outcome].includes(told);
    }, told);

  beforeAll(async () => {
    world = stack.use(await startWorld({ EGRESS_ALLOW: '127.0.0.1/32' }));
    const { admin, upstream, url } = world;
    provider = stack.use(await openProvider(admin));
    mia = await world.person({ orgId: admin.orgId, name: 'mia', role: 'member' });
    bot = await createAgent(url, mia, 'bot');
    const openapi = withAccount(templateDocument('notes', upstream.url), provider.issuer);
    created(await mia.post('/v1/templates', { openapi }));
    created(await mia.post('/v1/templates/notes/publish', { version: 1 }));
    const body = { template: 'notes', scopes: ['read'] };
    account = await provider.connect({ name: 'work', owner: mia, body, ...grant(1, 'read') });
    const credentials = { connection: 'work' };
    created(await mia.post('/v1/services', { template: 'notes', credentials }));
  });
  afterAll(() => stack.disposeAsync());
  beforeEach(() => {
    world.upstream.tokens = null;
  });

  test('reads with its token, which comes back nowhere', async () => {
    const service = created(await mia.get('/v1/services/notes'));
    expect(service).toMatchObject({ status: 'ready', credentials: { connection: 'work' } });

    const { body } = await bot.post(call, read);
    expect(body).toMatchObject({ status: 'called', result: { status_code: 200 } });
    expect(hits().at(-1)?.headers.authorization).toBe(`Bearer ${token(1)}`);
    const echoed = await mia.post(http, raw({ url: `${world.upstream.url}/echo` }));
    expect(echoed.body.result.body.headers.authorization).toBe('Bearer [REDACTED]');
    expect(JSON.stringify(echoed.body)).not.toContain('CANARY');
    const found = created(await bot.get('/v1/search?q=list%20notes'));
    expect(found.items[0].auth).toEqual({ type: 'oauth2', connected: true });
  });

  test('reads once more with another token when the one it had is refused', async () => {
    world.upstream.tokens = [token(2)];
    account.grants(grant(2, 'read'));
    const before = hits().length;

    expect((await bot.post(call, read)).body.result.status_code).toBe(200);
    const sent = hits().slice(before);
    expect(sent.map(({ headers }) => headers.authorization)).toEqual([
      `Bearer ${token(1)}`,
      `Bearer ${token(2)}`,
    ]);
  });

  test('is told which scope it lacks before anybody is asked, and where that is mended', async () => {
    const before = hits().length;
    for (const caller of [bot, mia]) {
      const { status, body } = await caller.post(call, write('too early'));
      expect([status, body.error, body.missing]).toEqual([403, 'missing_scopes', ['write']]);
      expect(body.connection_id).toBe(account.id);
    }
    expect(created(await mia.get('/v1/approvals?status=open')).items).toEqual([]);
    expect(hits().length).toBe(before);

    const { auth_url } = (await bot.post(call, write('too early'))).body;
    const { pathname, search } = new URL(auth_url);
    const gate = (await mia.get(pathname + search)).headers.get('location') ?? '';
    expect((await mia.get(gate)).body).toContain('write');
    await account.regrant(grant(3, 'read', 'write'), () => authorize(mia, world.url + gate));
    await untilTold(write('now'), 'would_require_approval');
    expect((await bot.post(call, write('now'))).body.status).toBe('pending_approval');
  });

  test('writes what was allowed, with the token of that moment', async () => {
    const { approval_id } = (await bot.post(call, write('allowed'))).body;
    await account.refresh(grant(4, 'read', 'write'));
    await until(async () => {
      await bot.post(call, read);
      return hits().at(-1)?.headers.authorization === `Bearer ${token(4)}`;
    }, 'the new token');
    created(await mia.post(`/v1/approvals/${approval_id}/resolve`, { resolution: 'allow' }));

    await until(() => hits().at(-1)?.body.includes('allowed') === true, 'the replay');
    expect(hits().at(-1)?.headers.authorization).toBe(`Bearer ${token(4)}`);
  });

  test('needs both to call a URL through it: what is called, and the connection there', async () => {
    const { host } = world.upstream;
    const keys = [`http:GET:${host}/raw`, `connection:work:${host}`];
    const asked = await bot.post(http, raw());
    expect([asked.status, asked.body.permission_keys]).toEqual([202, keys]);
    const byVerb = { service: 'notes', method: 'GET', path: '/raw' };
    expect((await bot.post(call, byVerb)).body.permission_keys).toEqual(keys);

    await allow(keys[0] ?? '');
    const tried = created(await bot.post('/v1/actions/validate', raw()));
    expect(tried).toMatchObject({
      outcome: 'would_require_approval',
      permission_keys: keys,
      uncovered_keys: [keys[1]],
    });
    await allow(keys[1] ?? '');
    for (const [path, body] of [
      [http, raw()],
      [call, byVerb],
    ] as const) {
      expect((await bot.post(path, body)).body.status).toBe('called');
      expect(hits().at(-1)).toMatchObject({ url: '/raw' });
    }
  });

  test('goes nowhere else with it, whoever asks', async () => {
    const before = hits().length;
    for (const caller of [bot, mia]) {
      for (const url of ['https://evil.example/raw', 'https://api.acme.example.evil.example/']) {
        const { status, body } = await caller.post(http, raw({ url }));
        expect([status, body.error]).toEqual([403, 'host_not_allowed']);
      }
    }
    const others = await createAgent(world.url, world.admin, 'others');
    for (const caller of [others, world.admin]) {
      const { status, body } = await caller.post(http, raw());
      expect([status, body.error, body.connection]).toEqual([424, 'credential_missing', 'work']);
    }
    expect(hits().length).toBe(before);
  });

  test('calls a URL once, however often it repeats its key, and is stopped by denials of the service', async () => {
    await allow(`http:ANY:${world.upstream.host}/**`);
    const post = raw({ method: 'POST', url: `${world.upstream.url}/once`, body: { a: 1 } });
    const before = hits().length;
    const [first, second] = [
      await bot.post(http, post, { 'idempotency-key': 'once' }),
      await bot.post(http, post, { 'idempotency-key': 'once' }),
    ];
    expect(first.body.status).toBe('called');
    expect(second.body.audit_id).toBe(first.body.audit_id);
    expect(hits().length).toBe(before + 1);

    const denied = { identity_id: bot.id, effect: 'deny', pattern: 'notes:list_notes:*' };
    const rule = created(await mia.post('/v1/rules', denied));
    const listed = await bot.post(http, raw({ url: `${world.upstream.url}/notes` }));
    expect(listed.body.status).toBe('denied');
    expect(hits().length).toBe(before + 1);
    await mia.delete(`/v1/rules/${rule.id}`);
  });

  // Last: there is no account any more.
  test('is told where its account is mended when the provider has ended it', async () => {
    await account.lose();
    await untilTold(read, 'reauth_required');
    const before = hits().length;
    for (const [path, body] of [
      [call, read],
      [call, write('too late')],
      [http, raw()],
    ] as const) {
      const { status, body: refusal } = await bot.post(path, body);
      expect([status, refusal.error]).toEqual([424, 'reauth_required']);
      expect(refusal).toMatchObject({
        connection_id: account.id,
        auth_url: `${world.url}/connect/repair/${account.id}`,
      });
    }
    expect(hits().length).toBe(before);
    const asked = { operation: 'service_status', service: 'notes' };
    const { body } = await useTool(world.url, bot.key, 'service_auth', asked);
    const auth_url = `${world.url}/connect/repair/${account.id}`;
    const missing = [{ kind: 'connection', name: account.name, status: 'needs_reauth', auth_url }];
    expect(body).toMatchObject({ services: [{ name: 'notes', status: 'needs_reauth', missing }] });
    expect(created(await bot.get('/v1/services/notes')).missing).toEqual(missing);

    created(await mia.delete(`/v1/connections/${account.id}`));
    await untilTold(read, 'credential_missing');
    await untilTold(read, 'credential_missing');
    const { missing: gone } = created(await bot.get('/v1/services/notes'));
    expect(gone).toEqual([{ kind: 'connection', name: account.name, status: 'absent' }]);
  });
});

/** The example, to be used by an account at Acme; writing takes a scope of its own. */
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
    .replace('summary: Write', 'security: [{ account: [write] }]\n      summary: Write');
}
