import { randomBytes } from 'node:crypto';

import { v7 as uuidv7 } from 'uuid';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';

import { ConfigError, loadConfig } from '#config';
import type { Principal } from '#contracts/vocabulary';
import { executorConfig } from '../config.ts';
import { startExecutor } from '../start.ts';
import { canary, createWorld, testDeadline } from '../world.testing.ts';
import type { World } from '../world.testing.ts';

let world: World;

beforeAll(async () => {
  world = await createWorld();
});
afterAll(() => world[Symbol.asyncDispose]());

type Body = Parameters<World['gateway']['createSecret']>[0]['body'];
const storeSecret = (body: Partial<Body> & { name: string }, principal = world.admin) =>
  world.gateway.createSecret({ principal, body: { value: canary(), ...body } }, testDeadline());
const createMember = (parts: Partial<Principal> = {}) =>
  world.principalOf({ role: 'member', ...parts });
const firstPage = { limit: 50, cursor: null };

const github = {
  template: { key: 'github', tier: 'global' as const, ownerId: null, version: 1 },
  baseUrl: 'https://a.example',
};

describe('storing a secret', () => {
  test('adds a version under its name, keeps the hosts unless new hosts are given, and publishes an event without the value', async () => {
    const storedSecret = await storeSecret({
      name: 'token',
      description: 'mine',
      allowed_hosts: ['API.example.com'],
    });
    const two = await storeSecret({ name: 'token' });
    const three = await storeSecret({ name: 'token', allowed_hosts: ['b.example'] });

    expect(storedSecret).toMatchObject({
      version: 1,
      tier: 'user',
      owner_id: world.userId,
      allowed_hosts: ['api.example.com'],
    });
    expect(two).toMatchObject({
      id: storedSecret.id,
      version: 2,
      description: 'mine',
      allowed_hosts: ['api.example.com'],
    });
    expect(three).toMatchObject({ version: 3, current_version: 3, allowed_hosts: ['b.example'] });
    await expect
      .poll(() => world.announced.map(({ type }) => type))
      .toEqual(['secret.created', 'secret.changed', 'secret.changed']);
    expect(world.announced[0]).toMatchObject({
      data: { secret_id: storedSecret.id, name: 'token' },
      audit: { user_id: world.userId, description: 'Stored secret token' },
    });
  });

  test('makes twenty versions when it is done twenty times concurrently', async () => {
    const all = await Promise.all(Array.from({ length: 20 }, () => storeSecret({ name: 'busy' })));

    expect(all.map(({ version }) => version).toSorted((a, b) => a - b)).toEqual(
      Array.from({ length: 20 }, (_, at) => at + 1),
    );
    const { items } = await world.gateway.listSecretVersions(
      { principal: world.admin, id: all[0]!.id, page: { limit: 15, cursor: null } },
      testDeadline(),
    );
    expect(items).toHaveLength(15);
    expect(items.filter(({ current }) => current)).toMatchObject([{ version: 20 }]);
  });

  test('is allowed only to an admin, and only with hosts, when it is a secret of the org', async () => {
    await expect(
      storeSecret({ name: 'shared', tier: 'org', allowed_hosts: ['a.example'] }, createMember()),
    ).rejects.toMatchObject({
      code: 'forbidden',
    });
    await expect(storeSecret({ name: 'shared', tier: 'org' })).rejects.toMatchObject({
      code: 'host_not_allowed',
    });
    await expect(
      storeSecret({ name: 'shared', tier: 'org', allowed_hosts: [] }),
    ).rejects.toMatchObject({
      code: 'host_not_allowed',
    });
    const shared = await storeSecret({ name: 'shared', tier: 'org', allowed_hosts: ['a.example'] });
    await expect(
      storeSecret({ name: 'shared', tier: 'org', allowed_hosts: [] }),
    ).rejects.toMatchObject({
      code: 'host_not_allowed',
    });
    expect(
      await world.gateway.getSecret({ principal: createMember(), id: shared.id }, testDeadline()),
    ).toMatchObject({
      tier: 'org',
      owner_id: null,
      current_version: 1,
    });
  });

  test.for<[who: string, principal: () => string]>([
    ['an agent', () => world.principalOf({ role: null, kind: 'agent', identityId: world.agentId })],
    ['an auditor', () => world.principalOf({ role: 'auditor' })],
  ])('is not allowed to %s', async ([, principal]) => {
    await expect(storeSecret({ name: 'mine' }, principal())).rejects.toMatchObject({
      code: 'forbidden',
    });
  });

  test('is refused when the value has a line feed, and the error does not contain the value', async () => {
    const failed = await storeSecret({ name: 'pasted', value: `${canary()}\n` }).catch(
      (error: unknown) => error,
    );

    expect(failed).toMatchObject({ code: 'invalid_params' });
    expect(JSON.stringify(failed) + String(failed)).not.toContain('CANARY');
  });

  test('is refused when the value looks pasted wrongly, except with as_is', async () => {
    const pastedSecret = { name: 'pasted_blank', value: `Bearer ${canary()}` };
    await expect(storeSecret(pastedSecret)).rejects.toMatchObject({
      code: 'invalid_params',
      details: { reason: 'looks_pasted' },
    });
    expect(await storeSecret({ ...pastedSecret, as_is: true })).toMatchObject({ version: 1 });
  });

  test('needs a principal that auth signed and that has not expired', async () => {
    await expect(storeSecret({ name: 'x' }, `x${world.admin}`)).rejects.toMatchObject({
      code: 'unauthenticated',
    });
    await expect(
      storeSecret({ name: 'x' }, createMember({ expiresAt: Date.now() - 2_000 })),
    ).rejects.toMatchObject({
      code: 'unauthenticated',
    });
  });
});

describe('reading and deleting secrets', () => {
  test('is allowed for the owner’s and the org’s secrets; a secret of another user is not_found, like a random id', async () => {
    const mine = await storeSecret({ name: 'private' });
    const strangers = [
      createMember({ userId: uuidv7() }),
      world.principalOf({ role: 'admin', userId: uuidv7() }),
      world.principalOf({ role: 'admin', orgId: uuidv7() }),
    ];
    for (const principal of strangers) {
      const random = await world.gateway
        .getSecret({ principal, id: uuidv7() }, testDeadline())
        .catch((error: unknown) => error);
      for (const attemptAs of [
        () => world.gateway.getSecret({ principal, id: mine.id }, testDeadline()),
        () => world.gateway.deleteSecret({ principal, id: mine.id }, testDeadline()),
        () =>
          world.gateway.listSecretVersions(
            { principal, id: mine.id, page: firstPage },
            testDeadline(),
          ),
      ]) {
        await expect(attemptAs()).rejects.toMatchObject({
          code: 'not_found',
          message: (random as Error).message,
        });
      }
      const { items } = await world.gateway.listSecrets(
        { principal, page: firstPage },
        testDeadline(),
      );
      expect(items.map(({ id }) => id)).not.toContain(mine.id);
    }
  });

  test('returns all secrets, page by page', async () => {
    for (const name of ['page-a', 'page-b', 'page-c']) await storeSecret({ name });
    const names: string[] = [];
    let cursor: string | null = null;
    do {
      const page: Awaited<ReturnType<World['gateway']['listSecrets']>> =
        await world.gateway.listSecrets(
          { principal: world.admin, page: { limit: 2, cursor } },
          testDeadline(),
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
        testDeadline(),
      ),
    ).rejects.toMatchObject({ code: 'invalid_request' });
  });

  test('deletes a secret for good, and does not let a member delete a secret of the org', async () => {
    const ownSecret = await storeSecret({ name: 'doomed' });
    const shared = await storeSecret({
      name: 'lasting',
      tier: 'org',
      allowed_hosts: ['a.example'],
    });

    await expect(
      world.gateway.deleteSecret({ principal: createMember(), id: shared.id }, testDeadline()),
    ).rejects.toMatchObject({
      code: 'forbidden',
    });
    await world.gateway.deleteSecret({ principal: world.admin, id: ownSecret.id }, testDeadline());
    await expect(
      world.gateway.deleteSecret({ principal: world.admin, id: ownSecret.id }, testDeadline()),
    ).rejects.toMatchObject({
      code: 'not_found',
    });
    expect(
      await world.sql`select 1 from executor.secret_version where secret_id = ${ownSecret.id}`,
    ).toHaveLength(0);
  });
});

describe('the endpoints for other components', () => {
  test('find a name without org/ among the user’s own secrets first, and then among the org’s', async () => {
    await storeSecret({ name: 'both', tier: 'org', allowed_hosts: ['org.example'] });
    const attemptAs = (names: string[], userId = world.userId) =>
      world.policy.describeSecrets({ orgId: world.orgId, userId, names }, testDeadline());

    expect((await attemptAs(['both', 'missing'])).secrets).toMatchObject([
      { asked: 'both', reference: 'org/both' },
    ]);
    await storeSecret({ name: 'both', allowed_hosts: ['own.example'] });
    expect((await attemptAs(['both', 'org/both'])).secrets).toMatchObject([
      { asked: 'both', reference: 'both', allowedHosts: ['own.example'] },
      { asked: 'org/both', reference: 'org/both', allowedHosts: ['org.example'] },
    ]);
    expect((await attemptAs(['both'], uuidv7())).secrets).toMatchObject([
      { reference: 'org/both' },
    ]);
    const otherOrg = { orgId: uuidv7(), userId: world.userId, names: ['both'] };
    expect((await world.policy.describeSecrets(otherOrg, testDeadline())).secrets).toEqual([]);
  });

  test('add hosts to a secret only for a principal that may write the secret', async () => {
    const { id } = await storeSecret({
      name: 'connected',
      tier: 'org',
      allowed_hosts: ['a.example'],
    });
    const allowHosts = (principal: string, hosts: string[], reference = 'org/connected') => {
      world.genuine.hosts = hosts;
      return world.registry.allowSecretHosts(
        { principal, reference, hosts, ...github },
        testDeadline(),
      );
    };

    await allowHosts(createMember(), ['a.example']);
    await expect(allowHosts(createMember(), ['b.example'])).rejects.toMatchObject({
      code: 'host_not_allowed',
    });
    await expect(allowHosts(world.admin, ['b.example'], 'absent')).rejects.toMatchObject({
      code: 'credential_missing',
    });
    await allowHosts(world.admin, ['b.example']);
    const manyHosts = Array.from({ length: 49 }, (_, at) => `many-${at}.example`);
    await expect(allowHosts(world.admin, manyHosts)).rejects.toMatchObject({
      code: 'host_not_allowed',
    });
    expect(
      (
        await world.gateway.getSecret({ principal: world.admin, id }, testDeadline())
      ).allowed_hosts.toSorted(),
    ).toEqual(['a.example', 'b.example']);
  });
});

describe('connecting a service', () => {
  const allowHosts = (reference: string, hosts: string[]) =>
    world.registry.allowSecretHosts(
      { principal: world.admin, reference, hosts, ...github },
      testDeadline(),
    );

  test('adds no host to a secret that policy does not know for the service, whatever the registry says', async () => {
    const { id } = await storeSecret({
      name: 'guarded',
      tier: 'org',
      allowed_hosts: ['a.example'],
    });
    world.genuine.hosts = ['a.example', 'b.example'];
    world.genuine.asked.splice(0);
    await expect(allowHosts('org/guarded', ['b.example', 'evil.example'])).rejects.toMatchObject({
      code: 'host_not_allowed',
      details: { hosts: ['evil.example'] },
    });
    const findAllowedHosts = async () =>
      (await world.gateway.getSecret({ principal: world.admin, id }, testDeadline())).allowed_hosts;
    expect(await findAllowedHosts()).toEqual(['a.example']);
    await allowHosts('org/guarded', ['b.example']);
    expect((await findAllowedHosts()).toSorted()).toEqual(['a.example', 'b.example']);
    const { orgId, userId } = world;
    const request = { orgId, userId, ...github };
    expect(world.genuine.asked).toEqual([request, request]);
  });
});

describe('the vault', () => {
  test('refuses to start with another master key, and starts when the old key is listed after the new key', async () => {
    const startWithKeys = async (MASTER_KEY: string) =>
      startExecutor(loadConfig(executorConfig, { ...world.variables, MASTER_KEY }));
    const other = randomBytes(32).toString('base64url');
    const refusal = await startWithKeys(other).catch((error: unknown) => error);

    expect(refusal).toBeInstanceOf(ConfigError);
    expect(String(refusal)).toMatch(/^ConfigError: MASTER_KEY does not open this vault: [^\n]+\.$/);
    await expect(startWithKeys('not a key')).rejects.toBeInstanceOf(ConfigError);
    await using rotated = await startWithKeys(`${other},${world.variables['MASTER_KEY']}`);
    expect(rotated).toBeDefined();
  });

  test('stores no value in plaintext in any table or event', async () => {
    const tables = await world.sql<{ name: string }[]>`
      select table_name as name from information_schema.tables where table_schema = 'executor'
    `;
    for (const { name } of tables) {
      const rows = await world.sql<{ text: string }[]>`
        select coalesce(string_agg(row_to_json(each)::text, ''), '') as text from ${world.sql(`executor.${name}`)} as each
      `;
      const text = rows[0]?.text ?? '';
      expect(text).not.toContain('CANARY');
      // The tables are read as text, in which Postgres writes bytea as hex.
      expect(text).not.toContain(Buffer.from('CANARY').toString('hex'));
    }
    expect(JSON.stringify(world.announced)).not.toContain('CANARY');
  });
});
