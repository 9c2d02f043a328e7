import { v7 as uuidv7 } from 'uuid';
import { afterAll, beforeAll, beforeEach, describe, expect, test, vi } from 'vitest';

import { loadConfig } from '#config';
import { executor } from '#contracts/bus/executor';
import type { Call } from '#contracts/call';
import { oauthProvider } from '#contracts/oauth-provider';
import type { ErrorCode } from '#errors';
import { createLogger } from '#telemetry';
import { executorConfig } from '../config.ts';
import { sealTokens } from '../connections/sealed-tokens.ts';
import { readMasterKeys } from '../vault/master-keys.ts';
import { openVault } from '../vault/vault.ts';
import type { Vault } from '../vault/vault.ts';
import { canary, context, createWorld, options, testDeadline } from '../world.testing.ts';
import type { World } from '../world.testing.ts';

let world: World;
let vault: Vault;

beforeAll(async () => {
  world = await createWorld();
  const { MASTER_KEY } = loadConfig(executorConfig, world.variables);
  const logger = createLogger({ component: 'test', level: 'silent' });
  vault = await openVault({ db: world.sql, masterKeys: readMasterKeys(MASTER_KEY), logger });
  const urlOf = (path: string) => `${world.upstream.baseUrl}${path}`;
  const provider = oauthProvider.parse({
    key: 'acme',
    title: 'Acme',
    authorization_url: urlOf('/authorize'),
    token_url: urlOf('/token'),
    pkce: true,
    client_authentication: 'none',
    hosts: [world.upstream.host],
  });
  await world.sql`
    insert into executor.oauth_app (id, org_id, provider, client_id, definition, created_by)
    values (${uuidv7()}, ${world.orgId}, 'acme', 'gateway', ${JSON.stringify(provider)}::text::jsonb, ${world.userId})
  `;
});
afterAll(() => world[Symbol.asyncDispose]());

/**
 * `acceptedTokens` holds the access tokens that the upstream accepts, and `next` is the token that
 * its token endpoint issues next.
 */
let acceptedTokens: Set<string>;
let nextToken: string | null;
beforeEach(() => {
  world.upstream.reset();
  acceptedTokens = new Set();
  nextToken = null;
  world.upstream.answer(({ url, headers }, reply) => {
    reply.setHeader('content-type', 'application/json');
    if (url === '/token') {
      if (nextToken !== null) acceptedTokens.add(nextToken);
      reply.statusCode = nextToken === null ? 400 : 200;
      const granted = { access_token: nextToken, token_type: 'bearer', expires_in: 3_600 };
      reply.end(JSON.stringify(nextToken === null ? { error: 'invalid_grant' } : granted));
      return;
    }
    const token = headers.authorization?.replace('Bearer ', '') ?? '';
    reply.statusCode = acceptedTokens.has(token) ? 200 : 401;
    reply.end(JSON.stringify({ echo: headers.authorization ?? null }));
  });
});

interface Account {
  readonly id: string;
  readonly name: string;
  readonly accessToken: string;
}

/** Stores a connection of Ann's in the state that a finished authorization flow leaves. */
async function connect({
  refreshToken = canary(),
  ownerId = world.userId,
  hosts = [world.upstream.host],
  secondsLeft = 3_600,
}: {
  refreshToken?: string | null;
  ownerId?: string;
  hosts?: string[];
  secondsLeft?: number;
} = {}): Promise<Account> {
  const id = uuidv7();
  const name = `acme-${id.slice(-12)}`;
  const accessToken = canary();
  const { orgId } = world;
  const sealed = await sealTokens(world.sql, vault, {
    place: { orgId, id, version: 1 },
    content: { accessToken, refreshToken },
  });
  await world.sql`
    insert into executor.connection
           (id, org_id, name, provider, tier, owner_id, status, allowed_hosts, token_version,
            sealed_tokens, token_url, expires_at, refresh_at, created_by)
    values (${id}, ${orgId}, ${name}, 'acme', 'user', ${ownerId}, 'active', ${hosts}, 1,
            ${sealed}, ${`${world.upstream.baseUrl}/token`},
            now() + make_interval(secs => ${secondsLeft}),
            now() + make_interval(secs => ${secondsLeft - 60}), ${ownerId})
  `;
  acceptedTokens.add(accessToken);
  return { id, name, accessToken };
}

async function execute(call: Call, account: Account) {
  const permit = world.permitOf(call, { connections: [account] });
  const done = await world.gateway.execute({ permit, call, options, context }, testDeadline());
  if (done.kind !== 'called') throw new Error('suspended');
  return executor.endpoints.execute.response.parse(done) as typeof done;
}
const listCalls = () => world.upstream.hits.filter(({ url }) => url !== '/token');
const countRefreshes = () => world.upstream.hits.length - listCalls().length;
const statusOf = async ({ id }: Account) =>
  (await world.sql`select status from executor.connection where id = ${id}`)[0]?.['status'];
const refusalWith = (code: ErrorCode, details: object = {}) =>
  expect.objectContaining({ code, details: expect.objectContaining(details) });
const createReadCall = () => world.actionCall('get', { id: 'a' });
const createWriteCall = () => world.actionCall('create', { title: 'a', password: 'b', room: 'c' });

describe('a connection that is bound to one of several sites of the account', () => {
  const bind = ({ id }: Account, baseUrl: string) => {
    const pin = {
      value: 'a1',
      label: 'https://acme.example',
      from: { get: `${world.upstream.baseUrl}/sites`, items: '.[]', value: '.id' },
      baseUrls: [baseUrl],
    };
    return world.sql`
      update executor.connection set account_pin = ${world.sql.json(pin)} where id = ${id}
    `;
  };

  test('sends its token to that site', async () => {
    const account = await connect();
    await bind(account, world.upstream.baseUrl);

    expect((await execute(createReadCall(), account)).result.status_code).toBe(200);
    expect(listCalls()).toHaveLength(1);
  });

  test('sends nothing to another site, whatever the permit contains', async () => {
    const account = await connect();
    await bind(account, `${world.upstream.baseUrl}/ex/a1`);

    for (const call of [createReadCall(), createWriteCall()]) {
      // oxlint-disable-next-line no-await-in-loop -- one after another
      await expect(execute(call, account)).rejects.toEqual(
        refusalWith('host_not_allowed', { connection: account.name, account_value: 'a1' }),
      );
    }
    expect(listCalls()).toEqual([]);
  });
});

describe('a connection whose token the provider refuses', () => {
  const findRefusedAt = async ({ id }: Account) =>
    (await world.gateway.getConnection({ principal: world.admin, id }, testDeadline())).refused_at;

  test('is marked as refused until a call succeeds, when there is no other token', async () => {
    const account = await connect({ refreshToken: null });
    acceptedTokens.clear();
    for (const call of [createReadCall(), createWriteCall()]) {
      await execute(call, account);
      expect(await findRefusedAt(account)).toEqual(expect.any(String));
    }
    acceptedTokens.add(account.accessToken);
    await vi.waitFor(async () => {
      await execute(createReadCall(), account);
      expect(await findRefusedAt(account)).toBeNull();
    });
    const announced = [
      ...(await world.outbox('credential.refused')),
      ...(await world.outbox('credential.accepted')),
    ].filter(({ data }) => data['id'] === account.id);
    expect(announced.map(({ type, data }) => [type, data['kind'], data['name']])).toEqual([
      ['credential.refused', 'connection', account.name],
      ['credential.accepted', 'connection', account.name],
    ]);
  });

  test.each([
    ['read', createReadCall],
    ['write', createWriteCall],
  ])('is not marked as refused when a %s gets a new token', async (_kind, createCall) => {
    const account = await connect();
    acceptedTokens.clear();
    nextToken = canary();
    await execute(createCall(), account);
    expect(await findRefusedAt(account)).toBeNull();
  });

  test('is marked as refused when the new token is refused too, and only a new grant removes the mark, not a refresh', async () => {
    const account = await connect();
    acceptedTokens.clear();
    nextToken = canary();
    world.upstream.answer(({ url }, reply) => {
      reply.setHeader('content-type', 'application/json');
      reply.statusCode = url === '/token' ? 200 : 401;
      reply.end(JSON.stringify({ access_token: nextToken, token_type: 'bearer' }));
    });
    await execute(createReadCall(), account);
    const markedAt = await findRefusedAt(account);
    expect(markedAt).toEqual(expect.any(String));
    await world.sql`update executor.connection set token_version = token_version + 1 where id = ${account.id}`;
    expect(await findRefusedAt(account)).toBe(markedAt);
    await world.sql`update executor.connection set granted_at = now() where id = ${account.id}`;
    expect(await findRefusedAt(account)).toBeNull();
  });
});

describe('a call with the token of a connection', () => {
  test('sends the token as a bearer token, and removes it from the answer', async () => {
    const account = await connect();
    for (const call of [createReadCall(), createWriteCall()]) {
      const { result } = await execute(call, account);
      expect(result).toMatchObject({ status_code: 200, body: { echo: 'Bearer [REDACTED]' } });
    }
    const { accessToken } = account;
    const authorization = `Bearer ${accessToken}`;
    expect(listCalls().map(({ headers }) => headers.authorization)).toEqual([
      authorization,
      authorization,
    ]);
    const [{ text } = { text: '' }] = await world.sql<{ text: string }[]>`
      select coalesce(string_agg(body, ''), '') as text
        from executor.outbox
    `;
    expect(text).not.toContain(accessToken);
  });

  test('goes only to the connection’s hosts, only for its owner, and only while the connection exists', async () => {
    const connectionElsewhere = await connect({ hosts: ['elsewhere.example'] });
    await expect(execute(createReadCall(), connectionElsewhere)).rejects.toEqual(
      refusalWith('host_not_allowed', { connection: connectionElsewhere.name }),
    );
    const others = await connect({ ownerId: uuidv7() });
    await expect(execute(createReadCall(), others)).rejects.toEqual(
      refusalWith('credential_missing', { connection: others.name }),
    );
    const absentConnection = { id: uuidv7(), name: 'none', accessToken: '' };
    await expect(execute(createReadCall(), absentConnection)).rejects.toEqual(
      refusalWith('credential_missing'),
    );
    expect(world.upstream.hits).toEqual([]);
  });

  test('needs the scopes of its action, even if an earlier token had them when policy decided', async () => {
    const account = await connect();
    const scoped = world.actionCall('scoped');
    await expect(execute(scoped, account)).rejects.toEqual(
      refusalWith('missing_scopes', {
        missing: ['notes'],
        connection_id: account.id,
        auth_url: expect.stringMatching(/\/connect\/repair\/.*\?scope=notes$/),
      }),
    );
    expect(world.upstream.hits).toEqual([]);
    await world.sql`update executor.connection set granted_scopes = '{notes,other}' where id = ${account.id}`;
    await vi.waitFor(() => execute(scoped, account), 30_000);
  });

  test('needs no scopes when the provider does not tell the scopes of its tokens', async () => {
    const account = await connect();
    const setDefinition = (change: ReturnType<World['sql']>) =>
      world.sql`update executor.oauth_app set definition = ${change} where provider = 'acme'`;
    await setDefinition(world.sql`definition || '{"scopes":"opaque"}'`);

    const done = await execute(world.actionCall('scoped'), account);

    await setDefinition(world.sql`definition - 'scopes'`);
    expect(done.result.status_code).toBe(200);
  });

  test('refreshes a token that expires soon', async () => {
    const account = await connect({ secondsLeft: 30 });
    nextToken = canary();

    expect((await execute(createReadCall(), account)).result.status_code).toBe(200);
    expect(listCalls()[0]?.headers.authorization).toBe(`Bearer ${nextToken}`);
  });
});

describe('an access token that the upstream refuses', () => {
  test('is replaced, and a read is sent a second time', async () => {
    const account = await connect();
    acceptedTokens.clear();
    nextToken = canary();

    const { result } = await execute(createReadCall(), account);

    expect(result).toMatchObject({ status_code: 200, body: { echo: 'Bearer [REDACTED]' } });
    expect(listCalls().map(({ headers }) => headers.authorization)).toEqual([
      `Bearer ${account.accessToken}`,
      `Bearer ${nextToken}`,
    ]);
    expect(countRefreshes()).toBe(1);
  });

  test('is replaced, and a non-read is not sent again', async () => {
    const account = await connect();
    acceptedTokens.clear();
    nextToken = canary();

    expect((await execute(createWriteCall(), account)).result.status_code).toBe(401);
    expect(listCalls()).toHaveLength(1);
    expect((await execute(createWriteCall(), account)).result.status_code).toBe(200);
    expect(countRefreshes()).toBe(1);
  });

  test('is not refreshed at every call when the upstream always answers 401', async () => {
    const account = await connect();
    for (const _ of [1, 2, 3]) {
      acceptedTokens.clear();
      nextToken = canary();
      world.upstream.hits.length = 0;
      await execute(createReadCall(), account);
    }
    expect(countRefreshes()).toBe(0);
    expect(await statusOf(account)).toBe('active');
  });

  test('stays in use when there is no refresh token, and the result is the upstream’s answer', async () => {
    const account = await connect({ refreshToken: null });
    acceptedTokens.clear();

    expect((await execute(createReadCall(), account)).result.status_code).toBe(401);
    expect(listCalls()).toHaveLength(1);
    expect(await statusOf(account)).toBe('active');
  });

  test('makes the call fail with a link for the owner when the provider refuses to refresh the token', async () => {
    const [reader, writer] = [await connect(), await connect()];
    acceptedTokens.clear();

    await expect(execute(createReadCall(), reader)).rejects.toEqual(
      refusalWith('reauth_required', { connection_id: reader.id, auth_url: expect.any(String) }),
    );
    expect((await execute(createWriteCall(), writer)).result.status_code).toBe(401);
    expect([await statusOf(reader), await statusOf(writer)]).toEqual([
      'needs_reauth',
      'needs_reauth',
    ]);
    await expect(execute(createWriteCall(), writer)).rejects.toEqual(
      refusalWith('reauth_required', { connection_id: writer.id }),
    );
    expect(listCalls()).toHaveLength(2);
  });

  test('is not replaced while the provider is unreachable, and the result is the upstream’s answer', async () => {
    const account = await connect();
    acceptedTokens.clear();
    const answers = world.upstream.hits;
    world.upstream.answer(({ url }, reply) => {
      if (url === '/token') reply.destroy();
      else reply.writeHead(401).end();
    });

    expect((await execute(createReadCall(), account)).result.status_code).toBe(401);
    expect(answers.filter(({ url }) => url !== '/token')).toHaveLength(1);
    expect(await statusOf(account)).toBe('active');
  });
});
