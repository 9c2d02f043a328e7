import { v7 as uuidv7 } from 'uuid';
import { afterAll, beforeAll, beforeEach, describe, expect, test, vi } from 'vitest';

import { loadConfig } from '#config';
import { executor } from '#contracts/bus/executor';
import type { Call } from '#contracts/call';
import { oauthProvider } from '#contracts/oauth-provider';
import type { ErrorCode } from '#errors';
import { createLogger } from '#telemetry';
import { executorConfig } from './config.ts';
import { sealTokens } from './connections/tokens.ts';
import { readMasterKeys } from './vault/master-keys.ts';
import { openVault } from './vault/vault.ts';
import type { Vault } from './vault/vault.ts';
import { canary, context, createWorld, options, soon } from './world.testing.ts';
import type { World } from './world.testing.ts';

let world: World;
let vault: Vault;

beforeAll(async () => {
  world = await createWorld();
  const { MASTER_KEY } = loadConfig(executorConfig, world.variables);
  const logger = createLogger({ component: 'test', level: 'silent' });
  vault = await openVault({ db: world.sql, masterKeys: readMasterKeys(MASTER_KEY), logger });
  const address = (path: string) => `${world.upstream.baseUrl}${path}`;
  const provider = oauthProvider.parse({
    key: 'acme',
    title: 'Acme',
    authorization_url: address('/authorize'),
    token_url: address('/token'),
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

/** Access tokens that the upstream takes, and what its token endpoint gives next. */
let live: Set<string>;
let next: string | null;
beforeEach(() => {
  world.upstream.reset();
  live = new Set();
  next = null;
  world.upstream.answer(({ url, headers }, reply) => {
    reply.setHeader('content-type', 'application/json');
    if (url === '/token') {
      if (next !== null) live.add(next);
      reply.statusCode = next === null ? 400 : 200;
      const granted = { access_token: next, token_type: 'bearer', expires_in: 3_600 };
      reply.end(JSON.stringify(next === null ? { error: 'invalid_grant' } : granted));
      return;
    }
    const token = headers.authorization?.replace('Bearer ', '') ?? '';
    reply.statusCode = live.has(token) ? 200 : 401;
    reply.end(JSON.stringify({ echo: headers.authorization ?? null }));
  });
});

interface Account {
  readonly id: string;
  readonly name: string;
  readonly accessToken: string;
}

/** A connection of Ann's as its flow would leave it. */
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
  live.add(accessToken);
  return { id, name, accessToken };
}

async function execute(call: Call, account: Account) {
  const permit = world.permitOf(call, { connections: [account] });
  const done = await world.gateway.execute({ permit, call, options, context }, soon());
  if (done.kind !== 'called') throw new Error('suspended');
  return executor.endpoints.execute.response.parse(done) as typeof done;
}
const calls = () => world.upstream.hits.filter(({ url }) => url !== '/token');
const refreshes = () => world.upstream.hits.length - calls().length;
const statusOf = async ({ id }: Account) =>
  (await world.sql`select status from executor.connection where id = ${id}`)[0]?.['status'];
const refused = (code: ErrorCode, details: object = {}) =>
  expect.objectContaining({ code, details: expect.objectContaining(details) });
const read = () => world.actionCall('get', { id: 'a' });
const write = () => world.actionCall('create', { title: 'a', password: 'b', room: 'c' });

describe('a call with the token of a connection', () => {
  test('sends it as bearer, and gives back nothing that repeats it', async () => {
    const account = await connect();
    for (const call of [read(), write()]) {
      const { result } = await execute(call, account);
      expect(result).toMatchObject({ status_code: 200, body: { echo: 'Bearer [REDACTED]' } });
    }
    const { accessToken } = account;
    const authorization = `Bearer ${accessToken}`;
    expect(calls().map(({ headers }) => headers.authorization)).toEqual([
      authorization,
      authorization,
    ]);
    const [{ text } = { text: '' }] = await world.sql<{ text: string }[]>`
      select coalesce(string_agg(body, ''), '') as text
        from executor.outbox
    `;
    expect(text).not.toContain(accessToken);
  });

  test('goes to its hosts only, for its owner only, while it is there', async () => {
    const elsewhere = await connect({ hosts: ['elsewhere.example'] });
    await expect(execute(read(), elsewhere)).rejects.toEqual(
      refused('host_not_allowed', { connection: elsewhere.name }),
    );
    const others = await connect({ ownerId: uuidv7() });
    await expect(execute(read(), others)).rejects.toEqual(
      refused('credential_missing', { connection: others.name }),
    );
    const nobodys = { id: uuidv7(), name: 'none', accessToken: '' };
    await expect(execute(read(), nobodys)).rejects.toEqual(refused('credential_missing'));
    expect(world.upstream.hits).toEqual([]);
  });

  test('goes out only with the scopes of its action, whatever was looked at before', async () => {
    const account = await connect();
    const scoped = world.actionCall('scoped');
    await expect(execute(scoped, account)).rejects.toEqual(
      refused('missing_scopes', {
        missing: ['notes'],
        connection_id: account.id,
        auth_url: expect.stringMatching(/\/connect\/repair\/.*\?scope=notes$/),
      }),
    );
    expect(world.upstream.hits).toEqual([]);
    await world.sql`update executor.connection set granted_scopes = '{notes,other}' where id = ${account.id}`;
    await vi.waitFor(() => execute(scoped, account), 5_000);
  });

  test('takes a new token when the old one is about to end', async () => {
    const account = await connect({ secondsLeft: 30 });
    next = canary();

    expect((await execute(read(), account)).result.status_code).toBe(200);
    expect(calls()[0]?.headers.authorization).toBe(`Bearer ${next}`);
  });
});

describe('a token that the upstream refuses', () => {
  test('is replaced and a read sent again, once', async () => {
    const account = await connect();
    live.clear();
    next = canary();

    const { result } = await execute(read(), account);

    expect(result).toMatchObject({ status_code: 200, body: { echo: 'Bearer [REDACTED]' } });
    expect(calls().map(({ headers }) => headers.authorization)).toEqual([
      `Bearer ${account.accessToken}`,
      `Bearer ${next}`,
    ]);
    expect(refreshes()).toBe(1);
  });

  test('is replaced, and a call that may have done something is not sent again', async () => {
    const account = await connect();
    live.clear();
    next = canary();

    expect((await execute(write(), account)).result.status_code).toBe(401);
    expect(calls()).toHaveLength(1);
    expect((await execute(write(), account)).result.status_code).toBe(200);
    expect(refreshes()).toBe(1);
  });

  test('is not asked for at each call of an upstream that says 401 to everything', async () => {
    const account = await connect();
    for (const _ of [1, 2, 3]) {
      live.clear();
      next = canary();
      world.upstream.hits.length = 0;
      await execute(read(), account);
    }
    expect(refreshes()).toBe(0);
    expect(await statusOf(account)).toBe('active');
  });

  test('without a refresh token stays, and the answer is the upstream’s own', async () => {
    const account = await connect({ refreshToken: null });
    live.clear();

    expect((await execute(read(), account)).result.status_code).toBe(401);
    expect(calls()).toHaveLength(1);
    expect(await statusOf(account)).toBe('active');
  });

  test('that its provider does not replace either has to be authorised again', async () => {
    const [reader, writer] = [await connect(), await connect()];
    live.clear();

    await expect(execute(read(), reader)).rejects.toEqual(
      refused('reauth_required', { connection_id: reader.id, auth_url: expect.any(String) }),
    );
    expect((await execute(write(), writer)).result.status_code).toBe(401);
    expect([await statusOf(reader), await statusOf(writer)]).toEqual([
      'needs_reauth',
      'needs_reauth',
    ]);
    await expect(execute(write(), writer)).rejects.toEqual(
      refused('reauth_required', { connection_id: writer.id }),
    );
    expect(calls()).toHaveLength(2);
  });

  test('is given back as it is while the provider cannot be reached', async () => {
    const account = await connect();
    live.clear();
    const answers = world.upstream.hits;
    world.upstream.answer(({ url }, reply) => {
      if (url === '/token') reply.destroy();
      else reply.writeHead(401).end();
    });

    expect((await execute(read(), account)).result.status_code).toBe(401);
    expect(answers.filter(({ url }) => url !== '/token')).toHaveLength(1);
    expect(await statusOf(account)).toBe('active');
  });
});
