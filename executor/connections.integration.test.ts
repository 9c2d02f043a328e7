import { v7 as uuidv7 } from 'uuid';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';

import type { Client } from '#bus';
import type { executor } from '#contracts/bus/executor';
import type { Connection } from '#contracts/http/connections';
import type { Principal } from '#contracts/vocabulary';
import { startTestProvider } from '../test/support/oauth-provider.ts';
import type { TestProvider } from '../test/support/oauth-provider.ts';
import { createWorld, soon } from './world.testing.ts';
import type { World } from './world.testing.ts';

const baseUrl = 'http://127.0.0.1:8080';
const context = { requestId: 'req-1', traceId: null, ip: '192.0.2.1' };
let world: World;
let bus: Client<typeof executor>;
let one: TestProvider;
let two: TestProvider;

/** A user in a browser: the same person with a session of its own each time. */
const browserOf = (parts: Partial<Principal> = {}) =>
  world.principalOf({
    role: 'admin',
    credential: { kind: 'session', id: uuidv7(), clientId: null },
    ...parts,
  });

beforeAll(async () => {
  world = await createWorld({ variables: { BASE_URL: baseUrl } });
  bus = world.gateway;
  one = await startTestProvider('one');
  two = await startTestProvider('two');
  for (const [provider, { issuer }] of [
    ['one', one],
    ['two', two],
  ] as const) {
    await bus.putOauthApp(
      {
        principal: world.admin,
        provider,
        context,
        body: {
          client_id: 'gateway',
          client_secret: 'CANARY-client-secret',
          definition: { title: `Provider ${provider}`, issuer, hosts: ['api.example.com'] },
        },
      },
      soon(),
    );
  }
});
afterAll(async () => {
  await one?.[Symbol.asyncDispose]();
  await two?.[Symbol.asyncDispose]();
  await world?.[Symbol.asyncDispose]();
});
beforeEach(() => {
  for (const each of [one, two]) {
    Object.assign(each, { answer: null, expiresIn: 3600, pause: null });
    each.account = { sub: 'account-1', email: 'ann@example.com' };
  }
});

let names = 0;
const nextName = () => `connection-${(names += 1)}`;

async function ask(body: Parameters<typeof bus.createConnection>[0]['body'], principal?: string) {
  return bus.createConnection({ principal: principal ?? browserOf(), body, context }, soon());
}

const flowOf = ({ authorization_url: url }: { authorization_url: string }) =>
  new URL(url).pathname.split('/').at(-1) ?? '';

/** Goes on to the provider, which asks nothing, and back as far as the callback. */
async function goThere(flowId: string, principal: string): Promise<URL> {
  const { url } = await bus.beginConnectionFlow({ principal, id: flowId, context }, soon());
  const reply = await fetch(url, { redirect: 'manual' });
  return new URL(reply.headers.get('location') ?? '');
}

const comeBack = (at: URL, principal: string, provider = at.pathname.split('/').at(-1) ?? '') =>
  bus.finishConnectionFlow({ principal, provider, query: at.search.slice(1), context }, soon());

async function connect(provider = 'one', name = nextName()): Promise<Connection> {
  const browser = browserOf();
  const asked = await ask({ provider, name, scopes: ['read'] }, browser);
  return (await comeBack(await goThere(flowOf(asked), browser), browser)).connection;
}

const codeOf = (promise: Promise<unknown>) =>
  promise.then(
    () => 'no error',
    (error: { code?: string }) => error.code,
  );

describe('connecting an account', () => {
  test('goes through the gate to the provider and back, and is described to policy', async () => {
    const browser = browserOf();
    const asked = await ask({ provider: 'one', name: 'mine', scopes: ['read'] }, browser);
    expect(asked).toMatchObject({ status: 'pending', account_label: null, granted_scopes: [] });
    expect(asked.authorization_url).toBe(`${baseUrl}/connect/${flowOf(asked)}`);
    const shown = await bus.showConnectionFlow({ principal: browser, id: flowOf(asked) }, soon());
    expect(shown).toMatchObject({
      providerTitle: 'Provider one',
      providerOrigin: one.issuer,
      scopes: ['read'],
      hosts: ['api.example.com'],
      askedBy: { kind: 'user', name: 'ann' },
    });

    const { url } = await bus.beginConnectionFlow(
      { principal: browser, id: flowOf(asked), context },
      soon(),
    );
    const { searchParams } = new URL(url);
    expect(Object.fromEntries(searchParams)).toMatchObject({
      response_type: 'code',
      client_id: 'gateway',
      scope: 'read',
      redirect_uri: `${baseUrl}/v1/connections/callback/one`,
      code_challenge_method: 'S256',
    });
    const reply = await fetch(url, { redirect: 'manual' });
    const finished = await comeBack(new URL(reply.headers.get('location') ?? ''), browser);
    expect(finished.connection).toMatchObject({
      id: asked.id,
      status: 'active',
      account_label: 'ann@example.com',
      granted_scopes: ['read', 'write'],
      hosts: ['api.example.com'],
    });
    expect(JSON.stringify(finished)).not.toContain('CANARY');

    const described = await world.policy.describeConnections(
      { orgId: world.orgId, userId: world.userId, names: ['mine', 'org/mine', 'other'] },
      soon(),
    );
    expect(described.connections).toEqual([
      {
        asked: 'mine',
        reference: 'mine',
        id: asked.id,
        provider: 'one',
        status: 'active',
        allowedHosts: ['api.example.com'],
        grantedScopes: ['read', 'write'],
        authUrl: `${baseUrl}/connect/repair/${asked.id}`,
      },
    ]);
    expect(await world.outbox('connection.created')).toMatchObject([
      { data: { connection_id: asked.id, name: 'mine' }, audit: { user_id: world.userId } },
    ]);
  });

  test('an agent may ask, and only the owner completes it', async () => {
    const agent = world.principalOf({
      role: null,
      kind: 'agent',
      identityId: world.agentId,
      chain: world.chain,
    });
    const asked = await ask({ provider: 'one', name: nextName() }, agent);
    expect(asked).toMatchObject({ status: 'pending', owner_id: world.userId });
    const id = flowOf(asked);
    expect(await codeOf(bus.showConnectionFlow({ principal: agent, id }, soon()))).toBe(
      'forbidden',
    );
    expect(await codeOf(bus.beginConnectionFlow({ principal: agent, id, context }, soon()))).toBe(
      'forbidden',
    );
    const shown = await bus.showConnectionFlow({ principal: browserOf(), id }, soon());
    expect(shown.askedBy).toMatchObject({ kind: 'agent', name: 'bot' });
    expect(await codeOf(ask({ provider: 'one', tier: 'org' }, agent))).toBe('forbidden');
  });

  test('more scopes later keep the connection, and ask for what it had as well', async () => {
    const { id, name } = await connect();
    const asked = await ask({ connection: id, scopes: ['admin'] });
    expect(asked).toMatchObject({ id, name, status: 'active' });
    const shown = await bus.showConnectionFlow(
      { principal: browserOf(), id: flowOf(asked) },
      soon(),
    );
    expect(shown.scopes).toEqual(['read', 'write', 'admin']);
    one.answer = (response) =>
      Object.assign(response.body as object, { scope: 'read,write,admin' });
    const browser = browserOf();
    const { connection } = await comeBack(await goThere(flowOf(asked), browser), browser);
    expect(connection).toMatchObject({ id, granted_scopes: ['read', 'write', 'admin'] });
  });

  test('a repair refuses the account of somebody else', async () => {
    const { id } = await connect();
    one.account = { sub: 'account-2', email: 'eve@example.com' };
    const browser = browserOf();
    const wish = { id, scopes: ['admin'], context };
    const { flowId } = await bus.repairConnection({ principal: browser, ...wish }, soon());
    const shown = await bus.showConnectionFlow({ principal: browser, id: flowId }, soon());
    expect(shown.scopes).toEqual(['read', 'write', 'admin']);
    await expect(comeBack(await goThere(flowId, browser), browser)).rejects.toMatchObject({
      code: 'conflict',
      message: expect.stringContaining('ann@example.com'),
    });
    const after = await bus.getConnection({ principal: browser, id }, soon());
    expect(after).toMatchObject({ status: 'active', account_label: 'ann@example.com' });
  });

  test('what the provider repeats of what it was sent is neither kept nor shown', async () => {
    const connection = await connect();
    const browser = browserOf();
    const refresh = () =>
      bus.refreshConnection({ principal: browser, id: connection.id, context }, soon());
    const spell = (secret: string) => [secret, Buffer.from(secret).toString('base64')];
    for (const said of spell('CANARY-client-secret')) {
      one.answer = (response) => {
        Object.assign(response, { statusCode: 400, body: { error: `no ${said}` } });
      };
      const refusal = await refresh().catch((error: Error) => error);
      expect(refusal).toMatchObject({ code: 'upstream_incomplete' });
      expect(String(refusal)).toMatch(/\(no .*\[REDACTED\].*\)/);
      expect(String(refusal)).not.toContain(said.slice(4, -4));
      await world.sql`update executor.connection set refresh_lease = null, refresh_lease_until = null`;
    }
    one.answer = (response, { refresh_token: sent = '' }) => {
      const { access_token: next } = response.body as Record<string, string>;
      const scope = ['read', ...spell('CANARY-client-secret'), sent, next].join(' ');
      Object.assign(response.body as object, { scope });
    };
    expect((await refresh()).granted_scopes).toEqual(['read']);

    one.answer = (response) => {
      const { access_token: token = '' } = response.body as Record<string, string>;
      one.account = { sub: 'account-1', email: `${token}@example.com` };
    };
    const made = await connect();
    expect(made.account_label).toBe('account-1');
    one.answer = (response) => {
      const { access_token: token = '' } = response.body as Record<string, string>;
      one.account = { sub: token, email: 'ann@example.com' };
    };
    expect((await connect()).account_label).toBeNull();
  });

  test('what the provider refuses is said, and the state is used up', async () => {
    const browser = browserOf();
    const asked = await ask({ provider: 'one', name: nextName() }, browser);
    const back = await goThere(flowOf(asked), browser);
    const refused = new URL(back);
    refused.searchParams.delete('code');
    refused.searchParams.set('error', 'access_denied');
    await expect(comeBack(refused, browser)).rejects.toMatchObject({
      code: 'forbidden',
      message: 'You did not allow it at Provider one, so nothing was connected.',
    });
    expect(await codeOf(comeBack(back, browser))).toBe('expired');
  });
});

describe('a token', () => {
  const template = { key: 'github', tier: 'global', ownerId: null, version: 1 } as const;
  const shownHosts = async (asked: { authorization_url: string }, principal: string) =>
    (await bus.showConnectionFlow({ principal, id: flowOf(asked) }, soon())).hosts;

  test('is let go to no host of a template that policy does not know of it, whatever the registry says', async () => {
    const browser = browserOf();
    const said = { provider: 'one', authorizationUrl: '', tokenUrl: '', scopes: ['read'] };
    world.genuine.hosts = ['notes.example'];
    world.genuine.oauth = { ...said, hosts: ['notes.example', 'evil.example'] };
    const wish = () => ask({ template: 'github', name: nextName() }, browser);
    await expect(wish()).rejects.toMatchObject({
      code: 'host_not_allowed',
      details: { hosts: ['evil.example'] },
    });
    world.genuine.oauth.hosts = ['notes.example'];
    expect(await shownHosts(await wish(), browser)).toContain('notes.example');
  });

  test('is let go to no other host when a service is connected', async () => {
    const { name, id } = await connect();
    const allow = (hosts: string[]) =>
      world.registry.allowConnectionHosts(
        {
          principal: browserOf(),
          reference: name,
          hosts,
          template,
          baseUrl: 'https://notes.example',
        },
        soon(),
      );
    world.genuine.hosts = ['notes.example'];
    await expect(allow(['evil.example'])).rejects.toMatchObject({ code: 'host_not_allowed' });
    await allow(['notes.example']);
    const { hosts } = await bus.getConnection({ principal: browserOf(), id }, soon());
    expect(hosts.toSorted()).toEqual(['api.example.com', 'notes.example']);
  });
});

describe('an answer that belongs elsewhere', () => {
  test('makes no connection when it comes from another provider', async () => {
    const browser = browserOf();
    const before = { one: one.tokenRequests.length, two: two.tokenRequests.length };
    const first = await ask({ provider: 'one', name: nextName() }, browser);
    const second = await ask({ provider: 'two', name: nextName() }, browser);
    const ofOne = await goThere(flowOf(first), browser);
    const ofTwo = await goThere(flowOf(second), browser);
    const state = (url: URL) => url.searchParams.get('state') ?? '';
    const swapped = new URL(ofOne);
    swapped.searchParams.set('code', ofTwo.searchParams.get('code') ?? '');

    // Each answer at the other's callback, and each state with the other's code.
    expect(await codeOf(comeBack(ofOne, browser, 'two'))).toBe('expired');
    expect(await codeOf(comeBack(ofTwo, browser, 'one'))).toBe('expired');
    const crossed = new URL(ofTwo);
    crossed.searchParams.set('state', state(ofOne));
    expect(await codeOf(comeBack(crossed, browser, 'two'))).toBe('expired');
    const issued = new URL(ofTwo);
    issued.searchParams.set('iss', one.issuer);
    expect(await codeOf(comeBack(issued, browser))).toBe('expired');
    expect([one.tokenRequests.length, two.tokenRequests.length]).toEqual([before.one, before.two]);
    // A code of two in the answer of one goes to one, which has no challenge for it (PKCE).
    expect(await codeOf(comeBack(swapped, browser))).toBe('upstream_incomplete');

    for (const { id } of [first, second]) {
      const { status } = await bus.getConnection({ principal: browser, id }, soon());
      expect(status).toBe('pending');
    }
  });

  test('makes no connection when somebody else, or another browser, brings it', async () => {
    const browser = browserOf();
    const bobId = uuidv7();
    const bob = browserOf({
      userId: bobId,
      identityId: bobId,
      role: 'admin',
      chain: [{ id: bobId, kind: 'user', name: 'bob', inheritPermissions: false }],
    });
    const asked = await ask({ provider: 'one', name: nextName() }, browser);
    const id = flowOf(asked);
    expect(await codeOf(bus.showConnectionFlow({ principal: bob, id }, soon()))).toBe('forbidden');
    expect(await codeOf(bus.beginConnectionFlow({ principal: bob, id, context }, soon()))).toBe(
      'forbidden',
    );
    const other = browserOf({ orgId: uuidv7() });
    expect(await codeOf(bus.showConnectionFlow({ principal: other, id }, soon()))).toBe(
      'not_found',
    );

    const back = await goThere(id, browser);
    for (const stranger of [bob, other, browserOf(), world.admin]) {
      const code = await codeOf(comeBack(back, stranger));
      expect(['expired', 'forbidden']).toContain(code);
    }
    const finished = await comeBack(back, browser);
    expect(finished.connection.status).toBe('active');
  });

  test('is taken once, of twenty that bring it at the same time', async () => {
    const browser = browserOf();
    const asked = await ask({ provider: 'one', name: nextName() }, browser);
    const back = await goThere(flowOf(asked), browser);
    const before = one.tokenRequests.length;
    const codes = await Promise.all(
      Array.from({ length: 20 }, () => codeOf(comeBack(back, browser))),
    );
    expect(codes.filter((code) => code === 'no error')).toHaveLength(1);
    expect(codes.filter((code) => code === 'expired')).toHaveLength(19);
    expect(one.tokenRequests.length - before).toBe(1);
  });

  test('goes nowhere once an admin has changed where it would go', async () => {
    const browser = browserOf();
    const definition = { title: 'Moved', issuer: one.issuer, hosts: ['api.example.com'] };
    const body = { client_id: 'gateway', client_secret: 'CANARY-client-secret', definition };
    const app = { principal: world.admin, provider: 'moved', body, context };
    await bus.putOauthApp(app, soon());
    const asked = await ask({ provider: 'moved', name: nextName() }, browser);
    const back = await goThere(flowOf(asked), browser);
    const before = two.tokenRequests.length;
    await bus.putOauthApp(
      { ...app, body: { ...body, definition: { ...definition, issuer: two.issuer } } },
      soon(),
    );
    expect(await codeOf(comeBack(back, browser))).toBe('conflict');
    expect(two.tokenRequests.length).toBe(before);
  });
});

describe('a provider of the org', () => {
  const put = (definition: Record<string, unknown>, provider = 'own') =>
    bus.putOauthApp(
      {
        principal: world.admin,
        provider,
        context,
        body: {
          client_id: 'gateway',
          client_secret: 'CANARY-client-secret',
          definition: { title: 'Own', hosts: ['api.example.com'], ...definition } as never,
        },
      },
      soon(),
    );

  test.for([
    ['javascript:alert(1)', 'https://id.example.com/token'],
    ['https://id.example.com/authorize', 'file:///etc/passwd'],
    ['http://id.example.com/authorize', 'https://id.example.com/token'],
    ['https://id.example.com/authorize', 'http://169.254.169.254/token'],
    ['https://user:pass@id.example.com/authorize', 'https://id.example.com/token'],
  ])('is refused with the addresses %s and %s', async ([authorization_url, token_url]) => {
    const code = await codeOf(put({ authorization_url, token_url }));
    expect(['invalid_params', 'invalid_request']).toContain(code);
  });

  test.for(['https://64:ff9b::1/x', 'https://[::1%25lo]/x', 'https://1.1.1.1:99999'])(
    'is refused with the issuer %s',
    async (issuer) => {
      expect(await codeOf(put({ issuer }))).toBe('invalid_params');
    },
  );

  test('is refused under the name of a built-in one, and from who is no admin', async () => {
    expect(await codeOf(put({ issuer: one.issuer }, 'github'))).toBe('conflict');
    const member = world.principalOf({ role: 'member' });
    const body = { client_id: 'x', client_secret: 'CANARY-x' };
    expect(
      await codeOf(
        bus.putOauthApp({ principal: member, provider: 'github', body, context }, soon()),
      ),
    ).toBe('forbidden');
  });

  test('is refused when its metadata is of another issuer', async () => {
    await expect(put({ issuer: `${one.issuer}/other` })).rejects.toMatchObject({
      code: 'invalid_params',
      message: expect.stringContaining('not as this issuer'),
    });
  });

  test('built-in ones take an app, whose secret never comes back', async () => {
    const body = { client_id: 'github-app', client_secret: 'CANARY-github-secret' };
    const app = await bus.putOauthApp(
      { principal: world.admin, provider: 'github', body, context },
      soon(),
    );
    expect(app).toMatchObject({
      source: 'org',
      client_id: 'github-app',
      has_client_secret: true,
      redirect_uri: `${baseUrl}/v1/connections/callback/github`,
    });
    const { items } = await bus.listOauthApps({ principal: world.admin }, soon());
    expect(items.length).toBeGreaterThan(25);
    expect(JSON.stringify(items)).not.toContain('CANARY');
    const asked = await ask({ provider: 'github', scopes: ['repo'] });
    const { url } = await bus.beginConnectionFlow(
      { principal: browserOf(), id: flowOf(asked), context },
      soon(),
    );
    expect(url).toMatch(/^https:\/\/github\.com\/login\/oauth\/authorize\?/);
    expect(await codeOf(ask({ provider: 'slack' }))).toBe('conflict');
  });
});

describe('revoking', () => {
  test('erases the tokens and frees the name, for the owner alone', async () => {
    const { id, name } = await connect();
    const bobId = uuidv7();
    const bob = world.principalOf({ role: 'admin', userId: bobId, identityId: bobId });
    expect(await codeOf(bus.deleteConnection({ principal: bob, id, context }, soon()))).toBe(
      'not_found',
    );
    await bus.deleteConnection({ principal: world.admin, id, context }, soon());
    const rows = await world.sql<{ sealed_tokens: unknown; status: string }[]>`
      select sealed_tokens, status from executor.connection where id = ${id}
    `;
    expect(rows).toEqual([{ sealed_tokens: null, status: 'revoked' }]);
    expect(
      await codeOf(bus.deleteConnection({ principal: world.admin, id, context }, soon())),
    ).toBe('not_found');
    expect((await connect('one', name)).id).not.toBe(id);
  });
});
