import { v7 as uuidv7 } from 'uuid';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';

import type { Client } from '#bus';
import type { executor } from '#contracts/bus/executor';
import type { Connection } from '#contracts/http/connections';
import type { Principal } from '#contracts/vocabulary';
import { startTestProvider } from '../../test/support/oauth-provider.ts';
import type { TestProvider } from '../../test/support/oauth-provider.ts';
import { createWorld, testDeadline } from '../world.testing.ts';
import { pruneConnectionFlows } from './connection-flow.sql.ts';
import type { World } from '../world.testing.ts';

const baseUrl = 'http://127.0.0.1:8080';
const context = { requestId: 'req-1', traceId: null, ip: '192.0.2.1' };
let world: World;
let executorApi: Client<typeof executor>;
let firstProvider: TestProvider;
let secondProvider: TestProvider;

/**
 * The principal of a user in a browser. Each call makes a new browser session of the same person.
 */
const browserOf = (parts: Partial<Principal> = {}) =>
  world.principalOf({
    role: 'admin',
    credential: { kind: 'session', id: uuidv7(), clientId: null },
    ...parts,
  });

beforeAll(async () => {
  world = await createWorld({ variables: { BASE_URL: baseUrl } });
  executorApi = world.gateway;
  firstProvider = await startTestProvider('one');
  secondProvider = await startTestProvider('two');
  for (const [provider, { issuer }] of [
    ['one', firstProvider],
    ['two', secondProvider],
  ] as const) {
    await executorApi.putOauthApp(
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
      testDeadline(),
    );
  }
});
afterAll(async () => {
  await firstProvider?.[Symbol.asyncDispose]();
  await secondProvider?.[Symbol.asyncDispose]();
  await world?.[Symbol.asyncDispose]();
});
beforeEach(() => {
  for (const each of [firstProvider, secondProvider]) {
    Object.assign(each, { changeAnswer: null, expiresInSeconds: 3600, waitBeforeAnswer: null });
    each.account = { sub: 'account-1', email: 'ann@example.com' };
  }
});

let nameCount = 0;
const nextName = () => `connection-${(nameCount += 1)}`;

async function askForConnection(
  body: Parameters<typeof executorApi.createConnection>[0]['body'],
  principal?: string,
) {
  return executorApi.createConnection(
    { principal: principal ?? browserOf(), body, context },
    testDeadline(),
  );
}

const flowIdOf = ({ authorization_url: url }: { authorization_url: string }) =>
  new URL(url).pathname.split('/').at(-1) ?? '';

/**
 * Begins the flow in the browser and follows the provider's redirect. The provider grants access at
 * once. Returns the callback URL.
 */
async function followToCallback(flowId: string, principal: string): Promise<URL> {
  const { url } = await executorApi.beginConnectionFlow(
    { principal, id: flowId, context },
    testDeadline(),
  );
  const reply = await fetch(url, { redirect: 'manual' });
  return new URL(reply.headers.get('location') ?? '');
}

const finishFlow = (at: URL, principal: string, provider = at.pathname.split('/').at(-1) ?? '') =>
  executorApi.finishConnectionFlow(
    { principal, provider, query: at.search.slice(1), context },
    testDeadline(),
  );

async function connect(provider = 'one', name = nextName()): Promise<Connection> {
  const browser = browserOf();
  const requestedConnection = await askForConnection({ provider, name, scopes: ['read'] }, browser);
  return (await finishFlow(await followToCallback(flowIdOf(requestedConnection), browser), browser))
    .connection;
}

const codeOf = (promise: Promise<unknown>) =>
  promise.then(
    () => 'no error',
    (error: { code?: string }) => error.code,
  );

describe('connecting an account', () => {
  test('goes through the gateway’s page and the provider and back, and policy can see the connection', async () => {
    const browser = browserOf();
    const requestedConnection = await askForConnection(
      { provider: 'one', name: 'mine', scopes: ['read'] },
      browser,
    );
    expect(requestedConnection).toMatchObject({
      status: 'pending',
      account_label: null,
      granted_scopes: [],
    });
    expect(requestedConnection.authorization_url).toBe(
      `${baseUrl}/connect/${flowIdOf(requestedConnection)}`,
    );
    const shownFlow = await executorApi.showConnectionFlow(
      { principal: browser, id: flowIdOf(requestedConnection) },
      testDeadline(),
    );
    expect(shownFlow).toMatchObject({
      providerTitle: 'Provider one',
      providerOrigin: firstProvider.issuer,
      scopes: ['read'],
      hosts: ['api.example.com'],
      askedBy: { kind: 'user', name: 'ann' },
    });

    const { url } = await executorApi.beginConnectionFlow(
      { principal: browser, id: flowIdOf(requestedConnection), context },
      testDeadline(),
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
    const finished = await finishFlow(new URL(reply.headers.get('location') ?? ''), browser);
    expect(finished.connection).toMatchObject({
      id: requestedConnection.id,
      status: 'active',
      account_label: 'ann@example.com',
      granted_scopes: ['read', 'write'],
      hosts: ['api.example.com'],
    });
    expect(JSON.stringify(finished)).not.toContain('CANARY');

    const descriptions = await world.policy.describeConnections(
      { orgId: world.orgId, userId: world.userId, names: ['mine', 'org/mine', 'other'] },
      testDeadline(),
    );
    expect(descriptions.connections).toEqual([
      {
        asked: 'mine',
        reference: 'mine',
        id: requestedConnection.id,
        provider: 'one',
        status: 'active',
        allowedHosts: ['api.example.com'],
        grantedScopes: ['read', 'write'],
        actsAs: null,
        authUrl: `${baseUrl}/connect/repair/${requestedConnection.id}`,
        pin: null,
        refusedAt: null,
      },
    ]);
    expect(await world.outbox('connection.created')).toMatchObject([
      {
        data: { connection_id: requestedConnection.id, name: 'mine' },
        audit: { user_id: world.userId },
      },
    ]);
  });

  test('can be requested by an agent and completed only by the owner', async () => {
    const agent = world.principalOf({
      role: null,
      kind: 'agent',
      identityId: world.agentId,
      chain: world.chain,
    });
    const requestedConnection = await askForConnection(
      { provider: 'one', name: nextName() },
      agent,
    );
    expect(requestedConnection).toMatchObject({ status: 'pending', owner_id: world.userId });
    const id = flowIdOf(requestedConnection);
    expect(
      await codeOf(executorApi.showConnectionFlow({ principal: agent, id }, testDeadline())),
    ).toBe('forbidden');
    expect(
      await codeOf(
        executorApi.beginConnectionFlow({ principal: agent, id, context }, testDeadline()),
      ),
    ).toBe('forbidden');
    const shownFlow = await executorApi.showConnectionFlow(
      { principal: browserOf(), id },
      testDeadline(),
    );
    expect(shownFlow.askedBy).toMatchObject({ kind: 'agent', name: 'bot' });
    expect(await codeOf(askForConnection({ provider: 'one', tier: 'org' }, agent))).toBe(
      'forbidden',
    );
  });

  test('keeps the connection and requests the earlier scopes too when it is repeated for more scopes', async () => {
    const { id, name } = await connect();
    const requestedConnection = await askForConnection({ connection: id, scopes: ['admin'] });
    expect(requestedConnection).toMatchObject({ id, name, status: 'active' });
    const shownFlow = await executorApi.showConnectionFlow(
      { principal: browserOf(), id: flowIdOf(requestedConnection) },
      testDeadline(),
    );
    expect(shownFlow.scopes).toEqual(['read', 'write', 'admin']);
    firstProvider.changeAnswer = (response) =>
      Object.assign(response.body as object, { scope: 'read,write,admin' });
    const browser = browserOf();
    const { connection } = await finishFlow(
      await followToCallback(flowIdOf(requestedConnection), browser),
      browser,
    );
    expect(connection).toMatchObject({ id, granted_scopes: ['read', 'write', 'admin'] });
  });

  test('is refused when it is repeated and the person signs in to another account', async () => {
    const { id } = await connect();
    firstProvider.account = { sub: 'account-2', email: 'eve@example.com' };
    const browser = browserOf();
    const scopesRequest = { id, scopes: ['admin'], context };
    const { flowId } = await executorApi.repairConnection(
      { principal: browser, ...scopesRequest },
      testDeadline(),
    );
    const shownFlow = await executorApi.showConnectionFlow(
      { principal: browser, id: flowId },
      testDeadline(),
    );
    expect(shownFlow.scopes).toEqual(['read', 'write', 'admin']);
    await expect(
      finishFlow(await followToCallback(flowId, browser), browser),
    ).rejects.toMatchObject({
      code: 'conflict',
      message: expect.stringContaining('ann@example.com'),
    });
    const after = await executorApi.getConnection({ principal: browser, id }, testDeadline());
    expect(after).toMatchObject({ status: 'active', account_label: 'ann@example.com' });
  });

  test('looks up the sites of the account in every later link, even when old links are deleted', async () => {
    const name = nextName();
    const ask = async () => flowIdOf(await askForConnection({ provider: 'one', name }));
    const lookUp = { get: 'https://api.example.com/sites', items: '.[]', value: '.id' };
    const address = { lookUp, server: 'https://api.example.com/ex/{site}', variable: 'site' };
    const first = await ask();
    await world.sql`
      update executor.connection_flow
         set account_address = ${world.sql.json(address)}, expires_at = now() - interval '1 hour'
       where id = ${first}
    `;
    // An executor of the earlier release creates links without the look-up.
    const second = await ask();
    await world.sql`
      update executor.connection_flow set account_address = null where id = ${second}
    `;
    await pruneConnectionFlows(world.sql, { limit: 1_000 });

    const third = await ask();
    const [flow] = await world.sql`
      select account_address from executor.connection_flow where id = ${third}
    `;
    expect(flow?.['account_address']).toEqual(address);
  });

  test('stores and announces no value that the provider repeats in its answers', async () => {
    const connection = await connect();
    const browser = browserOf();
    const refreshNow = () =>
      executorApi.refreshConnection(
        { principal: browser, id: connection.id, context },
        testDeadline(),
      );
    const spellingsOf = (secret: string) => [secret, Buffer.from(secret).toString('base64')];
    for (const spelling of spellingsOf('CANARY-client-secret')) {
      firstProvider.changeAnswer = (response) => {
        Object.assign(response, { statusCode: 400, body: { error: `no ${spelling}` } });
      };
      const refusal = await refreshNow().catch((error: Error) => error);
      expect(refusal).toMatchObject({ code: 'upstream_incomplete' });
      expect(String(refusal)).toContain('status 400');
      expect(String(refusal)).not.toContain(spelling.slice(4, -4));
      await world.sql`update executor.connection set refresh_lease = null, refresh_lease_until = null`;
    }
    firstProvider.changeAnswer = (response, { refresh_token: sentToken = '' }) => {
      const { access_token: next } = response.body as Record<string, string>;
      const scope = ['read', ...spellingsOf('CANARY-client-secret'), sentToken, next].join(' ');
      Object.assign(response.body as object, { scope });
    };
    expect((await refreshNow()).granted_scopes).toEqual(['read']);

    firstProvider.changeAnswer = (response) => {
      const { access_token: token = '' } = response.body as Record<string, string>;
      firstProvider.account = { sub: 'account-1', email: `${token}@example.com` };
    };
    const made = await connect();
    expect(made.account_label).toBe('account-1');
    firstProvider.changeAnswer = (response) => {
      const { access_token: token = '' } = response.body as Record<string, string>;
      firstProvider.account = { sub: token, email: 'ann@example.com' };
    };
    expect((await connect()).account_label).toBeNull();
  });

  test('fails when the provider refuses access, and the OAuth state cannot be used again', async () => {
    const browser = browserOf();
    const requestedConnection = await askForConnection(
      { provider: 'one', name: nextName() },
      browser,
    );
    const callbackUrl = await followToCallback(flowIdOf(requestedConnection), browser);
    const refusalUrl = new URL(callbackUrl);
    refusalUrl.searchParams.delete('code');
    refusalUrl.searchParams.set('error', 'access_denied');
    await expect(finishFlow(refusalUrl, browser)).rejects.toMatchObject({
      code: 'forbidden',
      message: 'You did not allow it at Provider one, so nothing was connected.',
    });
    expect(await codeOf(finishFlow(callbackUrl, browser))).toBe('expired');
  });
});

describe('the access token of a connection', () => {
  const template = { key: 'github', tier: 'global', ownerId: null, version: 1 } as const;
  const listShownHosts = async (
    requestedConnection: { authorization_url: string },
    principal: string,
  ) =>
    (
      await executorApi.showConnectionFlow(
        { principal, id: flowIdOf(requestedConnection) },
        testDeadline(),
      )
    ).hosts;

  test('may not go to a host that policy does not know for the template, whatever the registry answers', async () => {
    const browser = browserOf();
    const templateOauth = { provider: 'one', authorizationUrl: '', tokenUrl: '', scopes: ['read'] };
    world.genuine.hosts = ['notes.example'];
    world.genuine.oauth = { ...templateOauth, hosts: ['notes.example', 'evil.example'] };
    const requestAccess = () => askForConnection({ template: 'github', name: nextName() }, browser);
    await expect(requestAccess()).rejects.toMatchObject({
      code: 'host_not_allowed',
      details: { hosts: ['evil.example'] },
    });
    world.genuine.oauth.hosts = ['notes.example'];
    expect(await listShownHosts(await requestAccess(), browser)).toContain('notes.example');
  });

  test('may not go to other hosts after a service is connected', async () => {
    const { name, id } = await connect();
    const allowHosts = (hosts: string[]) =>
      world.registry.allowConnectionHosts(
        {
          principal: browserOf(),
          reference: name,
          hosts,
          template,
          baseUrl: 'https://notes.example',
        },
        testDeadline(),
      );
    world.genuine.hosts = ['notes.example'];
    await expect(allowHosts(['evil.example'])).rejects.toMatchObject({ code: 'host_not_allowed' });
    await allowHosts(['notes.example']);
    const { hosts } = await executorApi.getConnection(
      { principal: browserOf(), id },
      testDeadline(),
    );
    expect(hosts.toSorted()).toEqual(['api.example.com', 'notes.example']);
  });
});

describe('a provider’s answer at the callback', () => {
  test('makes no connection when it comes from another provider', async () => {
    const browser = browserOf();
    const before = {
      one: firstProvider.tokenRequests.length,
      two: secondProvider.tokenRequests.length,
    };
    const first = await askForConnection({ provider: 'one', name: nextName() }, browser);
    const second = await askForConnection({ provider: 'two', name: nextName() }, browser);
    const callbackOfFirst = await followToCallback(flowIdOf(first), browser);
    const callbackOfSecond = await followToCallback(flowIdOf(second), browser);
    const stateOf = (url: URL) => url.searchParams.get('state') ?? '';
    const swapped = new URL(callbackOfFirst);
    swapped.searchParams.set('code', callbackOfSecond.searchParams.get('code') ?? '');

    // Sends each provider's answer to the other provider's callback, and each `state` with the
    // other provider's code.
    expect(await codeOf(finishFlow(callbackOfFirst, browser, 'two'))).toBe('expired');
    expect(await codeOf(finishFlow(callbackOfSecond, browser, 'one'))).toBe('expired');
    const crossedUrl = new URL(callbackOfSecond);
    crossedUrl.searchParams.set('state', stateOf(callbackOfFirst));
    expect(await codeOf(finishFlow(crossedUrl, browser, 'two'))).toBe('expired');
    const issued = new URL(callbackOfSecond);
    issued.searchParams.set('iss', firstProvider.issuer);
    expect(await codeOf(finishFlow(issued, browser))).toBe('expired');
    expect([firstProvider.tokenRequests.length, secondProvider.tokenRequests.length]).toEqual([
      before.one,
      before.two,
    ]);
    // A code of provider `two` is sent as an answer of provider `one`. PKCE stops it: `one` knows
    // no challenge that matches the verifier.
    expect(await codeOf(finishFlow(swapped, browser))).toBe('upstream_incomplete');

    for (const { id } of [first, second]) {
      const { status } = await executorApi.getConnection(
        { principal: browser, id },
        testDeadline(),
      );
      expect(status).toBe('pending');
    }
  });

  test('makes no connection when another person or another browser sends it', async () => {
    const browser = browserOf();
    const bobId = uuidv7();
    const bob = browserOf({
      userId: bobId,
      identityId: bobId,
      role: 'admin',
      chain: [{ id: bobId, kind: 'user', name: 'bob', inheritPermissions: false }],
    });
    const requestedConnection = await askForConnection(
      { provider: 'one', name: nextName() },
      browser,
    );
    const id = flowIdOf(requestedConnection);
    expect(
      await codeOf(executorApi.showConnectionFlow({ principal: bob, id }, testDeadline())),
    ).toBe('forbidden');
    expect(
      await codeOf(
        executorApi.beginConnectionFlow({ principal: bob, id, context }, testDeadline()),
      ),
    ).toBe('forbidden');
    const other = browserOf({ orgId: uuidv7() });
    expect(
      await codeOf(executorApi.showConnectionFlow({ principal: other, id }, testDeadline())),
    ).toBe('not_found');

    const callbackUrl = await followToCallback(id, browser);
    for (const stranger of [bob, other, browserOf(), world.admin]) {
      const code = await codeOf(finishFlow(callbackUrl, stranger));
      expect(['expired', 'forbidden']).toContain(code);
    }
    const finished = await finishFlow(callbackUrl, browser);
    expect(finished.connection.status).toBe('active');
  });

  test('is accepted once, even if twenty requests send it concurrently', async () => {
    const browser = browserOf();
    const requestedConnection = await askForConnection(
      { provider: 'one', name: nextName() },
      browser,
    );
    const callbackUrl = await followToCallback(flowIdOf(requestedConnection), browser);
    const before = firstProvider.tokenRequests.length;
    const codes = await Promise.all(
      Array.from({ length: 20 }, () => codeOf(finishFlow(callbackUrl, browser))),
    );
    expect(codes.filter((code) => code === 'no error')).toHaveLength(1);
    expect(codes.filter((code) => code === 'expired')).toHaveLength(19);
    expect(firstProvider.tokenRequests.length - before).toBe(1);
  });

  test('is not exchanged for tokens when an admin has changed the token endpoint meanwhile', async () => {
    const browser = browserOf();
    const definition = { title: 'Moved', issuer: firstProvider.issuer, hosts: ['api.example.com'] };
    const body = { client_id: 'gateway', client_secret: 'CANARY-client-secret', definition };
    const app = { principal: world.admin, provider: 'moved', body, context };
    await executorApi.putOauthApp(app, testDeadline());
    const requestedConnection = await askForConnection(
      { provider: 'moved', name: nextName() },
      browser,
    );
    const callbackUrl = await followToCallback(flowIdOf(requestedConnection), browser);
    const before = secondProvider.tokenRequests.length;
    await executorApi.putOauthApp(
      { ...app, body: { ...body, definition: { ...definition, issuer: secondProvider.issuer } } },
      testDeadline(),
    );
    expect(await codeOf(finishFlow(callbackUrl, browser))).toBe('conflict');
    expect(secondProvider.tokenRequests.length).toBe(before);
  });
});

describe('an org’s own provider', () => {
  const putDefinition = (definition: Record<string, unknown>, provider = 'own') =>
    executorApi.putOauthApp(
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
      testDeadline(),
    );

  test.for([
    ['javascript:alert(1)', 'https://id.example.com/token'],
    ['https://id.example.com/authorize', 'file:///etc/passwd'],
    ['http://id.example.com/authorize', 'https://id.example.com/token'],
    ['https://id.example.com/authorize', 'http://169.254.169.254/token'],
    ['https://user:pass@id.example.com/authorize', 'https://id.example.com/token'],
  ])(
    'is refused with the authorization endpoint %s and the token endpoint %s',
    async ([authorization_url, token_url]) => {
      const code = await codeOf(putDefinition({ authorization_url, token_url }));
      expect(['invalid_params', 'invalid_request']).toContain(code);
    },
  );

  test.for(['https://64:ff9b::1/x', 'https://[::1%25lo]/x', 'https://1.1.1.1:99999'])(
    'is refused with the issuer %s',
    async (issuer) => {
      expect(await codeOf(putDefinition({ issuer }))).toBe('invalid_params');
    },
  );

  test('is refused with the name of a built-in provider, and for callers who are not admins', async () => {
    expect(await codeOf(putDefinition({ issuer: firstProvider.issuer }, 'github'))).toBe(
      'conflict',
    );
    const member = world.principalOf({ role: 'member' });
    const body = { client_id: 'x', client_secret: 'CANARY-x' };
    expect(
      await codeOf(
        executorApi.putOauthApp(
          { principal: member, provider: 'github', body, context },
          testDeadline(),
        ),
      ),
    ).toBe('forbidden');
  });

  test('is refused when its metadata contains another issuer, and the error contains that issuer', async () => {
    await expect(putDefinition({ issuer: `${firstProvider.issuer}/other` })).rejects.toMatchObject({
      code: 'invalid_params',
      message: expect.stringContaining(`called ${firstProvider.issuer} by its own metadata`),
    });
  });

  test('can replace the app of a built-in provider, and its client secret is never returned', async () => {
    const body = { client_id: 'github-app', client_secret: 'CANARY-github-secret' };
    const app = await executorApi.putOauthApp(
      { principal: world.admin, provider: 'github', body, context },
      testDeadline(),
    );
    expect(app).toMatchObject({
      source: 'org',
      client_id: 'github-app',
      has_client_secret: true,
      redirect_uri: `${baseUrl}/v1/connections/callback/github`,
    });
    const { items } = await executorApi.listOauthApps({ principal: world.admin }, testDeadline());
    expect(items.length).toBeGreaterThan(25);
    expect(JSON.stringify(items)).not.toContain('CANARY');
    const requestedConnection = await askForConnection({ provider: 'github', scopes: ['repo'] });
    const { url } = await executorApi.beginConnectionFlow(
      { principal: browserOf(), id: flowIdOf(requestedConnection), context },
      testDeadline(),
    );
    expect(url).toMatch(/^https:\/\/github\.com\/login\/oauth\/authorize\?/);
    expect(await codeOf(askForConnection({ provider: 'slack' }))).toBe('conflict');
    await expect(askForConnection({ provider: 'gihtub' })).rejects.toMatchObject({
      code: 'conflict',
      details: { provider: 'gihtub', did_you_mean: 'github' },
    });
  });
});

describe('revoking a connection', () => {
  test('erases the tokens and frees the name, and only the owner may do it', async () => {
    const { id, name } = await connect();
    const bobId = uuidv7();
    const bob = world.principalOf({ role: 'admin', userId: bobId, identityId: bobId });
    expect(
      await codeOf(executorApi.deleteConnection({ principal: bob, id, context }, testDeadline())),
    ).toBe('not_found');
    await executorApi.deleteConnection({ principal: world.admin, id, context }, testDeadline());
    const rows = await world.sql<{ sealed_tokens: unknown; status: string }[]>`
      select sealed_tokens, status from executor.connection where id = ${id}
    `;
    expect(rows).toEqual([{ sealed_tokens: null, status: 'revoked' }]);
    expect(
      await codeOf(
        executorApi.deleteConnection({ principal: world.admin, id, context }, testDeadline()),
      ),
    ).toBe('not_found');
    expect((await connect('one', name)).id).not.toBe(id);
  });
});
