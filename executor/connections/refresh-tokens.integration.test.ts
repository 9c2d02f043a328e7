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
import { programEnv } from '../../test/support/program-env.ts';
import { readMasterKeys } from '../vault/master-keys.ts';
import { openVault } from '../vault/vault.ts';
import { createWorld, testDeadline } from '../world.testing.ts';
import type { World } from '../world.testing.ts';
import { openConnections } from './open-connections.ts';

const context = { requestId: 'req-1', traceId: null, ip: '192.0.2.1' };
let world: World;
let provider: TestProvider;
let db: Database;
/** The connection dependencies of an executor, built in this process. */
let executorConnections: ReturnType<typeof openConnections>;
const cleanup = new AsyncDisposableStack();

beforeAll(async () => {
  world = cleanup.use(await createWorld());
  provider = cleanup.use(await startTestProvider());
  await putApp();
  db = cleanup.use(
    openDatabase({
      url: world.variables['EXECUTOR_DATABASE_URL'] ?? '',
      schema: 'executor',
      connectionsMax: 4,
    }),
  );
  const masterKeys = readMasterKeys(new SecretText(world.variables['MASTER_KEY'] ?? ''));
  const logger = createLogger({ component: 'test', level: 'silent' });
  executorConnections = openConnections({
    db,
    egress: cleanup.use(openEgress({ allow: parseEgressAllow('127.0.0.1/32') })),
    vault: await openVault({ db, masterKeys, logger }),
    logger,
    baseUrl: 'http://127.0.0.1:8080',
    ofEnvironment: new Map(),
  });
});
afterAll(() => cleanup.disposeAsync());
beforeEach(() => {
  Object.assign(provider, { changeAnswer: null, expiresInSeconds: 3600, waitBeforeAnswer: null });
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
    testDeadline(),
  );
}

let nameCount = 0;
/** Stores an active connection with a token that expires in `endsInSeconds`. */
async function connect(endsInSeconds: number | null = null): Promise<Connection> {
  const credential = { kind: 'session' as const, id: uuidv7(), clientId: null };
  const principal = world.principalOf({ role: 'admin', credential });
  const body = { provider: 'mock', name: `c${(nameCount += 1)}`, scopes: ['read'] };
  const requestedConnection = await world.gateway.createConnection(
    { principal, body, context },
    testDeadline(),
  );
  const id = requestedConnection.authorization_url.split('/').at(-1) ?? '';
  const { url } = await world.gateway.beginConnectionFlow(
    { principal, id, context },
    testDeadline(),
  );
  const reply = await fetch(url, { redirect: 'manual' });
  const query = new URL(reply.headers.get('location') ?? '').search.slice(1);
  const { connection } = await world.gateway.finishConnectionFlow(
    { principal, provider: 'mock', query, context },
    testDeadline(),
  );
  if (endsInSeconds !== null) await setTokenEnd(connection, endsInSeconds);
  provider.tokenRequests.length = 0;
  return connection;
}

async function setTokenEnd({ id }: { id: string }, seconds: number): Promise<void> {
  await world.sql`
    update executor.connection
       set expires_at = now() + make_interval(secs => ${seconds}),
           refresh_at = now() + make_interval(secs => ${seconds - 60})
     where id = ${id}
  `;
}

/** Changes the stored times, as if ten seconds had passed, so that a delayed refresh is due. */
async function letTimePass({ id }: { id: string }): Promise<void> {
  await world.sql`
    update executor.connection
       set refresh_at = now(),
           refresh_lease_until = case when refresh_lease is null then null else now() end
     where id = ${id}
  `;
  executorConnections.forget(null);
}

/** Changes the stored times, as if hours had passed since the tokens were stored. */
async function letHoursPass({ id }: { id: string }, hours: number): Promise<void> {
  const passed = world.sql`make_interval(hours => ${hours})`;
  await world.sql`
    update executor.connection
       set refresh_at = now(), granted_at = granted_at - ${passed},
           last_refreshed_at = last_refreshed_at - ${passed},
           refresh_failing_since = refresh_failing_since - ${passed},
           refresh_refused_since = refresh_refused_since - ${passed}
     where id = ${id}
  `;
  executorConnections.forget(null);
}

const openToken = ({ id }: { id: string }, refusedVersion?: number) =>
  executorConnections.openAccessToken(
    {
      orgId: world.orgId,
      connectionId: id,
      ...(refusedVersion === undefined ? {} : { refused: refusedVersion }),
    },
    testDeadline(),
  );
const statusOf = async ({ id }: { id: string }) =>
  (await world.gateway.getConnection({ principal: world.admin, id }, testDeadline())).status;
const failingSinceOf = async ({ id }: { id: string }) =>
  (await world.gateway.getConnection({ principal: world.admin, id }, testDeadline()))
    .refresh_failing_since;
const listReauthEvents = async ({ id }: { id: string }): Promise<Event[]> =>
  (await world.outbox('connection.needs_reauth')).filter(
    ({ data }) => data['connection_id'] === id,
  );

function startTokenUser(connection: { id: string }, times: number) {
  const child = spawn(
    process.execPath,
    ['executor/connections/token-user.testing.ts', world.orgId, connection.id, String(times)],
    {
      env: { ...programEnv, ...world.variables },
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

describe('an access token', () => {
  test('is not refreshed before its last minute', async () => {
    const connection = await connect(90);
    const token = await openToken(connection);
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

  test(
    'is refreshed once for a hundred calls in three processes',
    { timeout: 60_000 },
    async () => {
      const connection = await connect(-1);
      const userProcesses = [
        startTokenUser(connection, 34),
        startTokenUser(connection, 33),
        startTokenUser(connection, 33),
      ];
      for (const user of userProcesses) await user.ready();
      // The provider answers after a pause that is long enough for all callers to ask.
      provider.waitBeforeAnswer = () => new Promise((resolve) => setTimeout(resolve, 500));
      for (const user of userProcesses) user.go();
      const tokens = (await Promise.all(userProcesses.map((user) => user.results()))).flat();
      expect(tokens).toHaveLength(100);
      expect(new Set(tokens).size).toBe(1);
      expect(tokens[0]).toMatch(/^CANARY-access-/);
      expect(provider.refreshes()).toBe(1);
    },
  );

  test('stays usable when the refresh token rotates and when the provider leaves fields out', async () => {
    const connection = await connect(-1);
    await openToken(connection);
    const [first] = provider.tokenRequests;
    await setTokenEnd(connection, 30);
    provider.changeAnswer = (response) => {
      delete (response.body as Record<string, unknown>)['refresh_token'];
      delete (response.body as Record<string, unknown>)['scope'];
    };
    executorConnections.forget(null);
    expect((await openToken(connection)).grantedScopes).toEqual(['read', 'write']);
    await setTokenEnd(connection, 30);
    provider.changeAnswer = null;
    executorConnections.forget(null);
    await openToken(connection);
    const sentTokens = provider.tokenRequests.map(({ refresh_token: token }) => token);
    expect(sentTokens[0]).toBe(first?.['refresh_token']);
    expect(sentTokens[1]).not.toBe(sentTokens[0]);
    expect(sentTokens[2]).toBe(sentTokens[1]);
  });

  test('is refreshed once when the upstream refuses several calls with it', async () => {
    const connection = await connect();
    const { version } = await openToken(connection);
    const tokens = await Promise.all(
      Array.from({ length: 20 }, () => openToken(connection, version)),
    );
    expect(new Set(tokens.map((token) => token.version))).toEqual(new Set([version + 1]));
    expect((await openToken(connection, version)).version).toBe(version + 1);
    expect(provider.refreshes()).toBe(1);
  });

  test('is never refreshed when it has no expiry time', async () => {
    provider.expiresInSeconds = null;
    const connection = await connect();
    expect(connection.expires_at).toBeNull();
    await openToken(connection);
    expect(provider.refreshes()).toBe(0);
  });

  test('is refreshed after half of its lifetime when the lifetime is short', async () => {
    provider.expiresInSeconds = 20;
    const connection = await connect();
    await openToken(connection);
    expect(provider.refreshes()).toBe(0);
  });
});

describe('a refresh that gives no new access token', () => {
  test('notifies the owner once when the refresh token is no longer valid', async () => {
    const connection = await connect(-1);
    provider.changeAnswer = (response) => {
      response.statusCode = 400;
      response.body = { error: 'invalid_grant' };
    };
    const failures = await Promise.allSettled(
      Array.from({ length: 20 }, () => openToken(connection)),
    );
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
    expect(await listReauthEvents(connection)).toMatchObject([
      { data: { auth_url: expect.stringContaining(connection.id) }, audience: [world.userId] },
    ]);
    expect(provider.refreshes()).toBe(1);
    const [row] = await world.sql<{ sealed_tokens: unknown }[]>`
      select sealed_tokens from executor.connection where id = ${connection.id}
    `;
    expect(row?.sealed_tokens).toBeNull();
  });

  test.for([
    [
      'answers with status 500',
      'upstream_incomplete',
      { statusCode: 500, body: { error: 'invalid_grant' } },
    ],
    ['answers with status 429', 'upstream_incomplete', { statusCode: 429, body: {} }],
    [
      'does not know the client',
      'upstream_incomplete',
      { statusCode: 401, body: { error: 'invalid_client' } },
    ],
    [
      'answers with text that is no JSON',
      'upstream_incomplete',
      { statusCode: 200, body: 'a page' },
    ],
    [
      'answers without a token',
      'upstream_incomplete',
      { statusCode: 200, body: { token_type: 'Bearer' } },
    ],
  ] as const)('is repeated later when the provider %s', async ([, code, answer]) => {
    const connection = await connect(-1);
    provider.changeAnswer = (response) => Object.assign(response, answer);
    await expect(openToken(connection)).rejects.toMatchObject({ code });
    expect(await statusOf(connection)).toBe('active');
    provider.changeAnswer = null;
    // Drops the cached state, which otherwise happens only after a pause.
    executorConnections.forget(null);
    await expect(openToken(connection)).rejects.toMatchObject({ code: 'upstream_unreachable' });
    expect(provider.refreshes()).toBe(1);
    await letTimePass(connection);
    expect((await openToken(connection)).reveal()).toMatch(/^CANARY-access-/);
    expect(await listReauthEvents(connection)).toEqual([]);
  });

  test('has an error with a link when the provider gives no reason, and after hours ends the connection', async () => {
    const connection = await connect(-1);
    const link = { auth_url: expect.stringContaining(`/connect/repair/${connection.id}`) };
    provider.changeAnswer = (response) =>
      Object.assign(response, { statusCode: 400, body: '<html>Bad Request</html>' });
    await expect(openToken(connection)).rejects.toMatchObject({
      code: 'upstream_incomplete',
      details: link,
    });
    executorConnections.forget(null);
    await expect(openToken(connection)).rejects.toMatchObject({
      code: 'upstream_unreachable',
      details: link,
    });
    expect(provider.refreshes()).toBe(1);
    const since = await failingSinceOf(connection);
    expect(Date.parse(since ?? '')).toBeLessThanOrEqual(Date.now());

    // Six refusals within minutes do not end the connection.
    for (const _ of [2, 3, 4, 5, 6]) {
      await letTimePass(connection);
      await expect(openToken(connection)).rejects.toMatchObject({ code: 'upstream_incomplete' });
    }
    expect(await statusOf(connection)).toBe('active');
    expect(await failingSinceOf(connection)).toBe(since);
    await letHoursPass(connection, 7);
    await expect(openToken(connection)).rejects.toMatchObject({
      code: 'reauth_required',
      details: link,
    });
    expect(await statusOf(connection)).toBe('needs_reauth');
    expect(await failingSinceOf(connection)).toBeNull();
    const [event] = await listReauthEvents(connection);
    expect(event?.audit?.description).toContain('7 times');
  });

  test('starts counting refusals anew after tokens were stored, and never counts an outage', async () => {
    const connection = await connect(-1);
    const answerWith = (statusCode: number) => {
      provider.changeAnswer = (response) => Object.assign(response, { statusCode, body: {} });
    };
    const attempt = async () => {
      await letTimePass(connection);
      return openToken(connection).catch((error: unknown) => error);
    };
    answerWith(503);
    for (const _ of [1, 2, 3, 4, 5, 6]) await attempt();
    await letHoursPass(connection, 100);
    await attempt();
    expect(await failingSinceOf(connection)).not.toBeNull();
    // From now on the provider refuses, so the hours count from here.
    answerWith(400);
    for (const _ of [1, 2, 3, 4, 5]) await attempt();
    expect(await statusOf(connection)).toBe('active');
    await letHoursPass(connection, 7);
    answerWith(503);
    expect(await attempt()).toMatchObject({ code: 'upstream_incomplete' });
    provider.changeAnswer = null;
    await attempt();
    expect(await failingSinceOf(connection)).toBeNull();
    await setTokenEnd(connection, -1);
    answerWith(400);
    expect(await attempt()).toMatchObject({ code: 'upstream_incomplete' });
    expect(await statusOf(connection)).toBe('active');
  });

  test('leaves the current token in use during its last minute', async () => {
    const connection = await connect(30);
    provider.changeAnswer = (response) => Object.assign(response, { statusCode: 503, body: {} });
    expect((await openToken(connection)).reveal()).toMatch(/^CANARY-access-/);
    expect(provider.refreshes()).toBe(1);
  });

  test('notifies the owner when the provider never gave a refresh token', async () => {
    provider.changeAnswer = (response) => {
      delete (response.body as Record<string, unknown>)['refresh_token'];
    };
    const connection = await connect(-1);
    await expect(openToken(connection)).rejects.toMatchObject({ code: 'reauth_required' });
    expect(await listReauthEvents(connection)).toHaveLength(1);
    expect(provider.refreshes()).toBe(0);
  });

  test('leaves a valid access token in use when there is no refresh token', async () => {
    provider.changeAnswer = (response) => {
      delete (response.body as Record<string, unknown>)['refresh_token'];
    };
    const connection = await connect();
    const { id } = connection;
    const refreshOutcome = world.gateway.refreshConnection(
      { principal: world.admin, id, context },
      testDeadline(),
    );
    await expect(refreshOutcome).rejects.toMatchObject({
      code: 'reauth_required',
      details: { auth_url: expect.stringContaining(`/connect/repair/${id}`), connection_id: id },
    });
    expect(await statusOf(connection)).toBe('active');
    expect(await listReauthEvents(connection)).toEqual([]);
    expect((await openToken(connection)).reveal()).toMatch(/^CANARY-access-/);
    // The token still works in its last minute.
    await setTokenEnd(connection, 30);
    executorConnections.forget(null);
    expect((await openToken(connection)).reveal()).toMatch(/^CANARY-access-/);
  });

  test('is not repeated automatically for a token without an expiry time', async () => {
    provider.expiresInSeconds = null;
    const connection = await connect();
    provider.changeAnswer = (response) => Object.assign(response, { statusCode: 503, body: {} });
    const { id } = connection;
    const refreshOutcome = world.gateway.refreshConnection(
      { principal: world.admin, id, context },
      testDeadline(),
    );
    await expect(refreshOutcome).rejects.toMatchObject({ code: 'upstream_incomplete' });
    const [row] = await world.sql<{ refresh_at: Date | null }[]>`
      select refresh_at from executor.connection where id = ${id}
    `;
    expect(row?.refresh_at).toBeNull();
  });

  test('does not send the refresh token to another server that an admin has configured', async () => {
    const connection = await connect(-1);
    await using other = await startTestProvider('other');
    await putApp({ issuer: other.issuer });
    await expect(openToken(connection)).rejects.toMatchObject({ code: 'reauth_required' });
    expect(other.tokenRequests).toEqual([]);
    await putApp();
    expect(await listReauthEvents(connection)).toHaveLength(1);
  });
});

describe(
  'an executor that dies after the provider’s answer and before it commits the tokens',
  { timeout: 60_000 },
  () => {
    const killBeforeStoring = async (connection: Connection) => {
      const user = startTokenUser(connection, 1);
      await user.ready();
      const requestAnswered = Promise.withResolvers<void>();
      // The provider issues tokens, but its answer never reaches the executor.
      provider.waitBeforeAnswer = async () => {
        requestAnswered.resolve();
        await new Promise((resolve) => setTimeout(resolve, 300));
      };
      user.go();
      await requestAnswered.promise;
      await user.kill();
      provider.waitBeforeAnswer = null;
      const [row] = await world.sql<{ refresh_lease: string | null }[]>`
      select refresh_lease from executor.connection where id = ${connection.id}
    `;
      expect(row?.refresh_lease).not.toBeNull();
      await letTimePass(connection);
    };

    test('leaves a connection that the next executor refreshes, if the old refresh token still works', async () => {
      const connection = await connect(-1);
      await killBeforeStoring(connection);
      expect((await openToken(connection)).reveal()).toMatch(/^CANARY-access-/);
      expect(await statusOf(connection)).toBe('active');
      expect(provider.refreshes()).toBe(2);
      const [first, second] = provider.tokenRequests;
      expect(second?.['refresh_token']).toBe(first?.['refresh_token']);
    });

    test('leaves a connection that the owner is asked to repair, if a refresh token works only once', async () => {
      const connection = await connect(-1);
      await killBeforeStoring(connection);
      provider.changeAnswer = (response) => {
        response.statusCode = 400;
        response.body = { error: 'invalid_grant' };
      };
      await expect(openToken(connection)).rejects.toMatchObject({ code: 'reauth_required' });
      expect(await statusOf(connection)).toBe('needs_reauth');
      const [event] = await listReauthEvents(connection);
      expect(event?.audit?.description).toContain('an earlier answer had been lost');
    });
  },
);
