import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline/promises';

import { v7 as uuidv7 } from 'uuid';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';

import type { Connection } from '#contracts/http/connections';
import type { Event } from '#contracts/events';
import { openDatabase } from '#database';
import type { Database } from '#database';
import { openEgress, parseEgressAllow } from '#egress';
import { createLogger } from '#telemetry';
import { SecretText } from '#config';
import { startTestProvider } from '../../test/support/oauth-provider.ts';
import type { TestProvider } from '../../test/support/oauth-provider.ts';
import { readMasterKeys } from '../vault/master-keys.ts';
import { openVault } from '../vault/vault.ts';
import { createWorld, soon } from '../world.testing.ts';
import type { World } from '../world.testing.ts';
import { openConnections } from './index.ts';

const context = { requestId: 'req-1', traceId: null, ip: '192.0.2.1' };
let world: World;
let provider: TestProvider;
let db: Database;
/** The part of an executor that opens tokens, in this process. */
let executor: ReturnType<typeof openConnections>;
const owned = new AsyncDisposableStack();

beforeAll(async () => {
  world = owned.use(await createWorld());
  provider = owned.use(await startTestProvider());
  await putApp();
  db = owned.use(
    openDatabase({
      url: world.variables['EXECUTOR_DATABASE_URL'] ?? '',
      schema: 'executor',
      connectionsMax: 4,
    }),
  );
  const masterKeys = readMasterKeys(new SecretText(world.variables['MASTER_KEY'] ?? ''));
  const logger = createLogger({ component: 'test', level: 'silent' });
  executor = openConnections({
    db,
    egress: owned.use(openEgress({ allow: parseEgressAllow('127.0.0.1/32') })),
    vault: await openVault({ db, masterKeys, logger }),
    logger,
    baseUrl: 'http://127.0.0.1:8080',
    ofEnvironment: new Map(),
  });
});
afterAll(() => owned.disposeAsync());
beforeEach(() => {
  Object.assign(provider, { answer: null, expiresIn: 3600, pause: null });
  provider.tokenRequests.length = 0;
});

function putApp(definition: Record<string, unknown> = {}) {
  const { issuer } = provider;
  return world.gateway.putOauthApp(
    {
      principal: world.admin,
      provider: 'mock',
      context,
      body: {
        client_id: 'gateway',
        client_secret: 'CANARY-client-secret',
        definition: { title: 'Mock', issuer, hosts: ['api.example.com'], ...definition } as never,
      },
    },
    soon(),
  );
}

let names = 0;
/** An active connection, whose token ends in so many seconds. */
async function connect(endsInSeconds: number | null = null): Promise<Connection> {
  const credential = { kind: 'session' as const, id: uuidv7(), clientId: null };
  const principal = world.principalOf({ role: 'admin', credential });
  const body = { provider: 'mock', name: `c${(names += 1)}`, scopes: ['read'] };
  const asked = await world.gateway.createConnection({ principal, body, context }, soon());
  const id = asked.authorization_url.split('/').at(-1) ?? '';
  const { url } = await world.gateway.beginConnectionFlow({ principal, id, context }, soon());
  const reply = await fetch(url, { redirect: 'manual' });
  const query = new URL(reply.headers.get('location') ?? '').search.slice(1);
  const { connection } = await world.gateway.finishConnectionFlow(
    { principal, provider: 'mock', query, context },
    soon(),
  );
  if (endsInSeconds !== null) await endIn(connection, endsInSeconds);
  provider.tokenRequests.length = 0;
  return connection;
}

async function endIn({ id }: { id: string }, seconds: number): Promise<void> {
  await world.sql`
    update executor.connection
       set expires_at = now() + make_interval(secs => ${seconds}),
           refresh_at = now() + make_interval(secs => ${seconds - 60})
     where id = ${id}
  `;
}

/** As after ten seconds: what waits for its time is due. */
async function letTimePass({ id }: { id: string }): Promise<void> {
  await world.sql`
    update executor.connection
       set refresh_at = now(),
           refresh_lease_until = case when refresh_lease is null then null else now() end
     where id = ${id}
  `;
  executor.forget(null);
}

const open = ({ id }: { id: string }, refused?: number) =>
  executor.openAccessToken(
    { orgId: world.orgId, connectionId: id, ...(refused === undefined ? {} : { refused }) },
    soon(),
  );
const statusOf = async ({ id }: { id: string }) =>
  (await world.gateway.getConnection({ principal: world.admin, id }, soon())).status;
const needsReauth = async ({ id }: { id: string }): Promise<Event[]> =>
  (await world.outbox('connection.needs_reauth')).filter(
    ({ data }) => data['connection_id'] === id,
  );

function startUser(connection: { id: string }, times: number) {
  const child = spawn(
    process.execPath,
    ['executor/connections/token-user.testing.ts', world.orgId, connection.id, String(times)],
    {
      env: { PATH: process.env['PATH'], ...world.variables },
      stdio: ['pipe', 'pipe', 'inherit'],
    },
  );
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  return {
    ready: async () => expect((await lines.next()).value).toBe('ready'),
    go: () => child.stdin.write('go\n'),
    results: async (): Promise<string[]> => JSON.parse(String((await lines.next()).value)),
    async kill() {
      child.kill('SIGKILL');
      await once(child, 'exit');
    },
  };
}

describe('a token that ends', () => {
  test('is not asked for before its last minute', async () => {
    const connection = await connect(90);
    const token = await open(connection);
    expect(token.reveal()).toMatch(/^CANARY-access-/);
    expect(token).toMatchObject({
      tier: 'user',
      ownerId: world.userId,
      allowedHosts: ['api.example.com'],
      grantedScopes: ['read', 'write'],
    });
    expect(JSON.stringify(token)).not.toContain('CANARY');
    expect(provider.refreshes()).toBe(0);
  });

  test('is asked for once by a hundred calls of three processes', { timeout: 60_000 }, async () => {
    const connection = await connect(-1);
    const users = [startUser(connection, 34), startUser(connection, 33), startUser(connection, 33)];
    for (const user of users) await user.ready();
    // Long enough for all of them to have come.
    provider.pause = () => new Promise((resolve) => setTimeout(resolve, 500));
    for (const user of users) user.go();
    const tokens = (await Promise.all(users.map((user) => user.results()))).flat();
    expect(tokens).toHaveLength(100);
    expect(new Set(tokens).size).toBe(1);
    expect(tokens[0]).toMatch(/^CANARY-access-/);
    expect(provider.refreshes()).toBe(1);
  });

  test('goes on with what the provider rotates, and with what it leaves out', async () => {
    const connection = await connect(-1);
    await open(connection);
    const [first] = provider.tokenRequests;
    await endIn(connection, 30);
    provider.answer = (response) => {
      delete (response.body as Record<string, unknown>)['refresh_token'];
      delete (response.body as Record<string, unknown>)['scope'];
    };
    executor.forget(null);
    expect((await open(connection)).grantedScopes).toEqual(['read', 'write']);
    await endIn(connection, 30);
    provider.answer = null;
    executor.forget(null);
    await open(connection);
    const sent = provider.tokenRequests.map(({ refresh_token: token }) => token);
    expect(sent[0]).toBe(first?.['refresh_token']);
    expect(sent[1]).not.toBe(sent[0]);
    expect(sent[2]).toBe(sent[1]);
  });

  test('is asked for when the upstream has refused it, by all together once', async () => {
    const connection = await connect();
    const { version } = await open(connection);
    const tokens = await Promise.all(Array.from({ length: 20 }, () => open(connection, version)));
    expect(new Set(tokens.map((token) => token.version))).toEqual(new Set([version + 1]));
    expect((await open(connection, version)).version).toBe(version + 1);
    expect(provider.refreshes()).toBe(1);
  });

  test('that has no end is never asked for', async () => {
    provider.expiresIn = null;
    const connection = await connect();
    expect(connection.expires_at).toBeNull();
    await open(connection);
    expect(provider.refreshes()).toBe(0);
  });

  test('lives half its time when that is short', async () => {
    provider.expiresIn = 20;
    const connection = await connect();
    await open(connection);
    expect(provider.refreshes()).toBe(0);
  });
});

describe('a provider that does not give another one', () => {
  test('because the grant is dead: the owner is told, once', async () => {
    const connection = await connect(-1);
    provider.answer = (response) => {
      response.statusCode = 400;
      response.body = { error: 'invalid_grant' };
    };
    const failures = await Promise.allSettled(Array.from({ length: 20 }, () => open(connection)));
    for (const failure of failures) {
      expect(failure).toMatchObject({
        status: 'rejected',
        reason: {
          code: 'reauth_required',
          details: {
            connection_id: connection.id,
            auth_url: `http://127.0.0.1:8080/connect/repair/${connection.id}`,
          },
        },
      });
    }
    expect(await statusOf(connection)).toBe('needs_reauth');
    expect(await needsReauth(connection)).toMatchObject([
      { data: { auth_url: expect.stringContaining(connection.id) }, audience: [world.userId] },
    ]);
    expect(provider.refreshes()).toBe(1);
    const [row] = await world.sql<{ sealed_tokens: unknown }[]>`
      select sealed_tokens from executor.connection where id = ${connection.id}
    `;
    expect(row?.sealed_tokens).toBeNull();
  });

  test.for([
    ['answers 500', 'upstream_incomplete', { statusCode: 500, body: { error: 'invalid_grant' } }],
    ['answers 429', 'upstream_incomplete', { statusCode: 429, body: {} }],
    [
      'does not know the client',
      'upstream_incomplete',
      { statusCode: 401, body: { error: 'invalid_client' } },
    ],
    ['answers nonsense', 'upstream_incomplete', { statusCode: 200, body: 'a page' }],
    [
      'answers without a token',
      'upstream_incomplete',
      { statusCode: 200, body: { token_type: 'Bearer' } },
    ],
  ] as const)('because it %s: it is asked again later', async ([, code, answer]) => {
    const connection = await connect(-1);
    provider.answer = (response) => Object.assign(response, answer);
    await expect(open(connection)).rejects.toMatchObject({ code });
    expect(await statusOf(connection)).toBe('active');
    provider.answer = null;
    // Not at once: others may be asking it as well.
    executor.forget(null);
    await expect(open(connection)).rejects.toMatchObject({ code: 'upstream_unreachable' });
    expect(provider.refreshes()).toBe(1);
    await letTimePass(connection);
    expect((await open(connection)).reveal()).toMatch(/^CANARY-access-/);
    expect(await needsReauth(connection)).toEqual([]);
  });

  test('a minute before the end: the token that is there is used', async () => {
    const connection = await connect(30);
    provider.answer = (response) => Object.assign(response, { statusCode: 503, body: {} });
    expect((await open(connection)).reveal()).toMatch(/^CANARY-access-/);
    expect(provider.refreshes()).toBe(1);
  });

  test('because it never gave a refresh token: the owner is told', async () => {
    provider.answer = (response) => {
      delete (response.body as Record<string, unknown>)['refresh_token'];
    };
    const connection = await connect(-1);
    await expect(open(connection)).rejects.toMatchObject({ code: 'reauth_required' });
    expect(await needsReauth(connection)).toHaveLength(1);
    expect(provider.refreshes()).toBe(0);
  });

  test('and the token that is there is good: it stays, whoever asks for another one', async () => {
    provider.answer = (response) => {
      delete (response.body as Record<string, unknown>)['refresh_token'];
    };
    const connection = await connect();
    const { id } = connection;
    const asked = world.gateway.refreshConnection({ principal: world.admin, id, context }, soon());
    await expect(asked).rejects.toMatchObject({
      code: 'reauth_required',
      details: { auth_url: expect.stringContaining(`/connect/repair/${id}`), connection_id: id },
    });
    expect(await statusOf(connection)).toBe('active');
    expect(await needsReauth(connection)).toEqual([]);
    expect((await open(connection)).reveal()).toMatch(/^CANARY-access-/);
    // In its last minute too.
    await endIn(connection, 30);
    executor.forget(null);
    expect((await open(connection)).reveal()).toMatch(/^CANARY-access-/);
  });

  test('when somebody asks, of one that has no end: it is not asked again by itself', async () => {
    provider.expiresIn = null;
    const connection = await connect();
    provider.answer = (response) => Object.assign(response, { statusCode: 503, body: {} });
    const { id } = connection;
    const asked = world.gateway.refreshConnection({ principal: world.admin, id, context }, soon());
    await expect(asked).rejects.toMatchObject({ code: 'upstream_incomplete' });
    const [row] = await world.sql<{ refresh_at: Date | null }[]>`
      select refresh_at from executor.connection where id = ${id}
    `;
    expect(row?.refresh_at).toBeNull();
  });

  test('because it is another server now: the refresh token does not go there', async () => {
    const connection = await connect(-1);
    await using other = await startTestProvider('other');
    await putApp({ issuer: other.issuer });
    await expect(open(connection)).rejects.toMatchObject({ code: 'reauth_required' });
    expect(other.tokenRequests).toEqual([]);
    await putApp();
    expect(await needsReauth(connection)).toHaveLength(1);
  });
});

describe('an executor that dies between the answer and its commit', { timeout: 60_000 }, () => {
  const killInBetween = async (connection: Connection) => {
    const user = startUser(connection, 1);
    await user.ready();
    const answered = Promise.withResolvers<void>();
    // The tokens have been issued; what is answered never gets there.
    provider.pause = async () => {
      answered.resolve();
      await new Promise((resolve) => setTimeout(resolve, 300));
    };
    user.go();
    await answered.promise;
    await user.kill();
    provider.pause = null;
    const [row] = await world.sql<{ refresh_lease: string | null }[]>`
      select refresh_lease from executor.connection where id = ${connection.id}
    `;
    expect(row?.refresh_lease).not.toBeNull();
    await letTimePass(connection);
  };

  test('leaves a connection that is repaired, where the old refresh token still works', async () => {
    const connection = await connect(-1);
    await killInBetween(connection);
    expect((await open(connection)).reveal()).toMatch(/^CANARY-access-/);
    expect(await statusOf(connection)).toBe('active');
    expect(provider.refreshes()).toBe(2);
    const [first, second] = provider.tokenRequests;
    expect(second?.['refresh_token']).toBe(first?.['refresh_token']);
  });

  test('leaves one whose owner is told, where it works once', async () => {
    const connection = await connect(-1);
    await killInBetween(connection);
    provider.answer = (response) => {
      response.statusCode = 400;
      response.body = { error: 'invalid_grant' };
    };
    await expect(open(connection)).rejects.toMatchObject({ code: 'reauth_required' });
    expect(await statusOf(connection)).toBe('needs_reauth');
    const [event] = await needsReauth(connection);
    expect(event?.audit?.description).toContain('an earlier answer had been lost');
  });
});
