import { randomBytes } from 'node:crypto';

import { v7 as uuidv7 } from 'uuid';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';

import { ConfigError, loadConfig } from '#config';
import type { Principal } from '#contracts/vocabulary';
import { executorConfig } from './config.ts';
import { startExecutor } from './start.ts';
import { canary, createWorld, soon } from './world.testing.ts';
import type { World } from './world.testing.ts';

let world: World;

beforeAll(async () => {
  world = await createWorld();
});
afterAll(() => world[Symbol.asyncDispose]());

type Body = Parameters<World['gateway']['createSecret']>[0]['body'];
const store = (body: Partial<Body> & { name: string }, principal = world.admin) =>
  world.gateway.createSecret({ principal, body: { value: canary(), ...body } }, soon());
const member = (parts: Partial<Principal> = {}) => world.principalOf({ role: 'member', ...parts });
const firstPage = { limit: 50, cursor: null };

const github = {
  template: { key: 'github', tier: 'global' as const, ownerId: null, version: 1 },
  baseUrl: 'https://a.example',
};

describe('storing a secret', () => {
  test('makes versions of a name, keeps hosts unless they are given, and announces it without the value', async () => {
    const one = await store({
      name: 'token',
      description: 'mine',
      allowed_hosts: ['API.example.com'],
    });
    const two = await store({ name: 'token' });
    const three = await store({ name: 'token', allowed_hosts: ['b.example'] });

    expect(one).toMatchObject({
      version: 1,
      tier: 'user',
      owner_id: world.userId,
      allowed_hosts: ['api.example.com'],
    });
    expect(two).toMatchObject({
      id: one.id,
      version: 2,
      description: 'mine',
      allowed_hosts: ['api.example.com'],
    });
    expect(three).toMatchObject({ version: 3, current_version: 3, allowed_hosts: ['b.example'] });
    await expect
      .poll(() => world.announced.map(({ type }) => type))
      .toEqual(['secret.created', 'secret.changed', 'secret.changed']);
    expect(world.announced[0]).toMatchObject({
      data: { secret_id: one.id, name: 'token' },
      audit: { user_id: world.userId, description: 'Stored secret token' },
    });
  });

  test('twenty at once make twenty versions', async () => {
    const all = await Promise.all(Array.from({ length: 20 }, () => store({ name: 'busy' })));

    expect(all.map(({ version }) => version).toSorted((a, b) => a - b)).toEqual(
      Array.from({ length: 20 }, (_, at) => at + 1),
    );
    const { items } = await world.gateway.listSecretVersions(
      { principal: world.admin, id: all[0]!.id, page: { limit: 15, cursor: null } },
      soon(),
    );
    expect(items).toHaveLength(15);
    expect(items.filter(({ current }) => current)).toMatchObject([{ version: 20 }]);
  });

  test('of the org takes an admin, and hosts', async () => {
    await expect(
      store({ name: 'shared', tier: 'org', allowed_hosts: ['a.example'] }, member()),
    ).rejects.toMatchObject({
      code: 'forbidden',
    });
    await expect(store({ name: 'shared', tier: 'org' })).rejects.toMatchObject({
      code: 'host_not_allowed',
    });
    await expect(store({ name: 'shared', tier: 'org', allowed_hosts: [] })).rejects.toMatchObject({
      code: 'host_not_allowed',
    });
    const shared = await store({ name: 'shared', tier: 'org', allowed_hosts: ['a.example'] });
    await expect(store({ name: 'shared', tier: 'org', allowed_hosts: [] })).rejects.toMatchObject({
      code: 'host_not_allowed',
    });
    expect(
      await world.gateway.getSecret({ principal: member(), id: shared.id }, soon()),
    ).toMatchObject({
      tier: 'org',
      owner_id: null,
      current_version: 1,
    });
  });

  test.for<[who: string, principal: () => string]>([
    ['an agent', () => world.principalOf({ role: null, kind: 'agent', identityId: world.agentId })],
    ['an auditor', () => world.principalOf({ role: 'auditor' })],
  ])('is not for %s', async ([, principal]) => {
    await expect(store({ name: 'mine' }, principal())).rejects.toMatchObject({ code: 'forbidden' });
  });

  test('with a line feed is refused without repeating the value', async () => {
    const failed = await store({ name: 'pasted', value: `${canary()}\n` }).catch(
      (error: unknown) => error,
    );

    expect(failed).toMatchObject({ code: 'invalid_params' });
    expect(JSON.stringify(failed) + String(failed)).not.toContain('CANARY');
  });

  test('needs a genuine principal that has not run out', async () => {
    await expect(store({ name: 'x' }, `x${world.admin}`)).rejects.toMatchObject({
      code: 'unauthenticated',
    });
    await expect(
      store({ name: 'x' }, member({ expiresAt: Date.now() - 2_000 })),
    ).rejects.toMatchObject({
      code: 'unauthenticated',
    });
  });
});

describe('reading and deleting secrets', () => {
  test('is for the owner and the org; another user’s and another org’s are as absent as a random id', async () => {
    const mine = await store({ name: 'private' });
    const strangers = [
      member({ userId: uuidv7() }),
      world.principalOf({ role: 'admin', userId: uuidv7() }),
      world.principalOf({ role: 'admin', orgId: uuidv7() }),
    ];
    for (const principal of strangers) {
      const random = await world.gateway
        .getSecret({ principal, id: uuidv7() }, soon())
        .catch((error: unknown) => error);
      for (const ask of [
        () => world.gateway.getSecret({ principal, id: mine.id }, soon()),
        () => world.gateway.deleteSecret({ principal, id: mine.id }, soon()),
        () => world.gateway.listSecretVersions({ principal, id: mine.id, page: firstPage }, soon()),
      ]) {
        await expect(ask()).rejects.toMatchObject({
          code: 'not_found',
          message: (random as Error).message,
        });
      }
      const { items } = await world.gateway.listSecrets({ principal, page: firstPage }, soon());
      expect(items.map(({ id }) => id)).not.toContain(mine.id);
    }
  });

  test('pages through all of them', async () => {
    for (const name of ['page-a', 'page-b', 'page-c']) await store({ name });
    const names: string[] = [];
    let cursor: string | null = null;
    do {
      const page: Awaited<ReturnType<World['gateway']['listSecrets']>> =
        await world.gateway.listSecrets(
          { principal: world.admin, page: { limit: 2, cursor } },
          soon(),
        );
      expect(page.items.length).toBeLessThanOrEqual(2);
      names.push(...page.items.map(({ name }) => name));
      cursor = page.next_cursor;
    } while (cursor !== null);

    expect(new Set(names).size).toBe(names.length);
    expect(names).toEqual(expect.arrayContaining(['page-a', 'page-b', 'page-c']));
    await expect(
      world.gateway.listSecrets(
        { principal: world.admin, page: { limit: 2, cursor: 'nonsense' } },
        soon(),
      ),
    ).rejects.toMatchObject({ code: 'invalid_request' });
  });

  test('deletes for good; a member does not delete the org’s', async () => {
    const own = await store({ name: 'doomed' });
    const shared = await store({ name: 'lasting', tier: 'org', allowed_hosts: ['a.example'] });

    await expect(
      world.gateway.deleteSecret({ principal: member(), id: shared.id }, soon()),
    ).rejects.toMatchObject({
      code: 'forbidden',
    });
    await world.gateway.deleteSecret({ principal: world.admin, id: own.id }, soon());
    await expect(
      world.gateway.deleteSecret({ principal: world.admin, id: own.id }, soon()),
    ).rejects.toMatchObject({
      code: 'not_found',
    });
    expect(
      await world.sql`select 1 from executor.secret_version where secret_id = ${own.id}`,
    ).toHaveLength(0);
  });
});

describe('what neighbours ask about secrets', () => {
  test('a name is the user’s own, else the org’s', async () => {
    await store({ name: 'both', tier: 'org', allowed_hosts: ['org.example'] });
    const ask = (names: string[], userId = world.userId) =>
      world.policy.describeSecrets({ orgId: world.orgId, userId, names }, soon());

    expect((await ask(['both', 'missing'])).secrets).toMatchObject([
      { asked: 'both', reference: 'org/both' },
    ]);
    await store({ name: 'both', allowed_hosts: ['own.example'] });
    expect((await ask(['both', 'org/both'])).secrets).toMatchObject([
      { asked: 'both', reference: 'both', allowedHosts: ['own.example'] },
      { asked: 'org/both', reference: 'org/both', allowedHosts: ['org.example'] },
    ]);
    expect((await ask(['both'], uuidv7())).secrets).toMatchObject([{ reference: 'org/both' }]);
    const elsewhere = { orgId: uuidv7(), userId: world.userId, names: ['both'] };
    expect((await world.policy.describeSecrets(elsewhere, soon())).secrets).toEqual([]);
  });

  test('only who may write a secret lets it go to more hosts', async () => {
    const { id } = await store({ name: 'connected', tier: 'org', allowed_hosts: ['a.example'] });
    const allow = (principal: string, hosts: string[], reference = 'org/connected') => {
      world.genuine.hosts = hosts;
      return world.registry.allowSecretHosts({ principal, reference, hosts, ...github }, soon());
    };

    await allow(member(), ['a.example']);
    await expect(allow(member(), ['b.example'])).rejects.toMatchObject({
      code: 'host_not_allowed',
    });
    await expect(allow(world.admin, ['b.example'], 'absent')).rejects.toMatchObject({
      code: 'credential_missing',
    });
    await allow(world.admin, ['b.example']);
    const many = Array.from({ length: 49 }, (_, at) => `many-${at}.example`);
    await expect(allow(world.admin, many)).rejects.toMatchObject({ code: 'host_not_allowed' });
    expect(
      (
        await world.gateway.getSecret({ principal: world.admin, id }, soon())
      ).allowed_hosts.toSorted(),
    ).toEqual(['a.example', 'b.example']);
  });
});

describe('a service that is connected', () => {
  const allow = (reference: string, hosts: string[]) =>
    world.registry.allowSecretHosts(
      { principal: world.admin, reference, hosts, ...github },
      soon(),
    );

  test('lets a secret go to no host that policy does not know of it, whatever the registry says', async () => {
    const { id } = await store({ name: 'guarded', tier: 'org', allowed_hosts: ['a.example'] });
    world.genuine.hosts = ['a.example', 'b.example'];
    world.genuine.asked.splice(0);
    await expect(allow('org/guarded', ['b.example', 'evil.example'])).rejects.toMatchObject({
      code: 'host_not_allowed',
      details: { hosts: ['evil.example'] },
    });
    const allowed = async () =>
      (await world.gateway.getSecret({ principal: world.admin, id }, soon())).allowed_hosts;
    expect(await allowed()).toEqual(['a.example']);
    await allow('org/guarded', ['b.example']);
    expect((await allowed()).toSorted()).toEqual(['a.example', 'b.example']);
    const { orgId, userId } = world;
    const asked = { orgId, userId, ...github };
    expect(world.genuine.asked).toEqual([asked, asked]);
  });
});

describe('the vault', () => {
  test('refuses to start with another master key, in one sentence, and starts with the old one behind a new one', async () => {
    const start = (MASTER_KEY: string) =>
      startExecutor(loadConfig(executorConfig, { ...world.variables, MASTER_KEY }));
    const other = randomBytes(32).toString('base64url');
    const refusal = await start(other).catch((error: unknown) => error);

    expect(refusal).toBeInstanceOf(ConfigError);
    expect(String(refusal)).toMatch(/^ConfigError: MASTER_KEY does not open this vault: [^\n]+\.$/);
    await expect(start('not a key')).rejects.toBeInstanceOf(ConfigError);
    await using rotated = await start(`${other},${world.variables['MASTER_KEY']}`);
    expect(rotated).toBeDefined();
  });

  test('keeps nothing readable: no value stands in any table or event', async () => {
    const tables = await world.sql<{ name: string }[]>`
      select table_name as name from information_schema.tables where table_schema = 'executor'
    `;
    for (const { name } of tables) {
      const rows = await world.sql<{ text: string }[]>`
        select coalesce(string_agg(row_to_json(each)::text, ''), '') as text from ${world.sql(`executor.${name}`)} as each
      `;
      const text = rows[0]?.text ?? '';
      expect(text).not.toContain('CANARY');
      // bytea is shown in hex.
      expect(text).not.toContain(Buffer.from('CANARY').toString('hex'));
    }
    expect(JSON.stringify(world.announced)).not.toContain('CANARY');
  });
});
