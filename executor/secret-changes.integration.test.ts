import { v7 as uuidv7 } from 'uuid';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';

import type { Principal } from '#contracts/vocabulary';
import { canary, context, createWorld, options, soon } from './world.testing.ts';
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

describe('changing a secret', () => {
  const change = (
    id: string,
    body: Parameters<World['gateway']['updateSecret']>[0]['body'],
    principal = world.admin,
  ) => world.gateway.updateSecret({ principal, id, body, context }, soon());

  test('sets its hosts and its description, each alone, and says so in the audit log', async () => {
    const { id } = await store({ name: 'moved', description: 'old', allowed_hosts: ['a.example'] });

    expect(await change(id, { allowed_hosts: ['B.example', 'c.example'] })).toMatchObject({
      description: 'old',
      current_version: 1,
      allowed_hosts: ['b.example', 'c.example'],
    });
    expect(await change(id, { description: null })).toMatchObject({
      description: null,
      allowed_hosts: ['b.example', 'c.example'],
    });
    expect(await change(id, { allowed_hosts: [] })).toMatchObject({ allowed_hosts: [] });
    const audits = () =>
      world.announced
        .filter(({ data }) => data['secret_id'] === id)
        .map(({ audit }) => [audit?.description, audit?.request_id, audit?.ip]);
    await expect
      .poll(audits)
      .toEqual(
        [
          'Stored secret moved',
          'Let secret moved go to b.example, c.example alone',
          'Changed the description of secret moved',
          'Let secret moved go to no host alone',
        ].map((text) => [text, context.requestId, context.ip]),
      );
  });

  test('of the org never leaves it without hosts', async () => {
    const { id } = await store({ name: 'fixed', tier: 'org', allowed_hosts: ['a.example'] });
    await expect(change(id, { allowed_hosts: [] })).rejects.toMatchObject({
      code: 'host_not_allowed',
    });
  });

  test('holds for the next call', async () => {
    const { host } = world.upstream;
    const { id } = await store({ name: 'closing', allowed_hosts: [host] });
    const call = world.actionCall('get', { id: '1' });
    const use = () =>
      world.gateway.execute(
        { permit: world.permitOf(call, { secrets: [{ id, name: 'x' }] }), call, options, context },
        soon(),
      );
    await use();
    await change(id, { allowed_hosts: ['elsewhere.example'] });
    const outcome = () =>
      use().then(
        () => 'sent',
        ({ code }: { code: string }) => code,
      );
    expect(await outcome()).toBe('host_not_allowed');
  });

  test('a new value is what is sent from then on', async () => {
    const { host } = world.upstream;
    const call = world.actionCall('get', { id: '1' });
    for (let round = 0; round < 10; round += 1) {
      const value = canary();
      const { id } = await store({ name: 'renewed', allowed_hosts: [host], value });
      world.upstream.reset();
      const permit = world.permitOf(call, { secrets: [{ id, name: 'renewed' }] });
      await world.gateway.execute({ permit, call, options, context }, soon());
      expect(world.upstream.hits[0]?.headers.authorization).toContain(value);
    }
  });

  /** Every way in which a secret could be let go to another host. */
  test.for<[who: string, principal: () => string, own: string, org: string]>([
    ['a member', () => member(), 'allowed', 'forbidden'],
    ['another member', () => member({ userId: uuidv7() }), 'not_found', 'forbidden'],
    [
      'another admin',
      () => world.principalOf({ role: 'admin', userId: uuidv7() }),
      'not_found',
      'allowed',
    ],
    ['an auditor', () => world.principalOf({ role: 'auditor' }), 'forbidden', 'forbidden'],
    [
      'an agent',
      () => world.principalOf({ role: null, kind: 'agent', identityId: world.agentId }),
      'forbidden',
      'forbidden',
    ],
    [
      'another org',
      () => world.principalOf({ role: 'admin', orgId: uuidv7() }),
      'not_found',
      'not_found',
    ],
  ])('moves no secret that is not theirs to write: %s', async ([, principal, own, org]) => {
    const name = `path-${uuidv7()}`;
    const ours = await store({ name, allowed_hosts: ['a.example'] });
    const shared = await store({ name, tier: 'org', allowed_hosts: ['a.example'] });
    const told = (work: Promise<unknown>) =>
      work.then(
        () => 'allowed',
        ({ code }: { code: string }) => code,
      );
    const hostsOf = async (id: string) => {
      const [row] = await world.sql<{ allowed_hosts: string[] }[]>`
        select allowed_hosts from executor.secret where id = ${id}
      `;
      return row?.allowed_hosts;
    };
    for (const [secret, expected] of [
      [ours, own],
      [shared, org],
    ] as const) {
      const { id } = secret;
      const moved = { allowed_hosts: ['evil.example'] };
      expect(await told(change(id, moved, principal()))).toBe(expected);
      expect(
        await told(
          world.gateway.restoreSecretVersion(
            { principal: principal(), id, version: 1, context },
            soon(),
          ),
        ),
      ).toBe(expected === 'allowed' ? 'conflict' : expected);
      if (expected === 'allowed') continue;
      await told(store({ name, tier: secret.tier, ...moved }, principal()));
      world.genuine.hosts = moved.allowed_hosts;
      await told(
        world.registry.allowSecretHosts(
          {
            principal: principal(),
            reference: secret.tier === 'org' ? `org/${name}` : name,
            hosts: moved.allowed_hosts,
            template: { key: 'github', tier: 'global', ownerId: null, version: 1 },
            baseUrl: 'https://evil.example',
          },
          soon(),
        ),
      );
      expect(await hostsOf(id)).toEqual(['a.example']);
    }
  });
});

describe('versions', () => {
  const restore = (id: string, version: number, principal = world.admin) =>
    world.gateway.restoreSecretVersion({ principal, id, version, context }, soon());
  const versionsOf = async (id: string) =>
    (
      await world.gateway.listSecretVersions(
        { principal: world.admin, id, page: { limit: 200, cursor: null } },
        soon(),
      )
    ).items.map(({ version }) => version);

  test('an earlier value comes back as the next version, and is what is sent then', async () => {
    const { host } = world.upstream;
    const [first, second] = [canary(), canary()];
    const { id } = await store({ name: 'restored', value: first, allowed_hosts: [host] });
    await store({ name: 'restored', value: second });
    const call = world.actionCall('get', { id: '1' });
    const sent = async () => {
      const permit = world.permitOf(call, { secrets: [{ id, name: 'x' }] });
      await world.gateway.execute({ permit, call, options, context }, soon());
      return world.upstream.hits.at(-1)?.headers.authorization;
    };
    expect(await sent()).toBe(`Bearer ${second}`);

    expect(await restore(id, 1)).toMatchObject({ id, version: 3, allowed_hosts: [host] });
    await expect.poll(sent).toBe(`Bearer ${first}`);
    expect(await versionsOf(id)).toEqual([3, 2, 1]);
    const sealed = await world.sql<{ sealed: Buffer }[]>`
      select sealed from executor.secret_version where secret_id = ${id} and version in (1, 3)
    `;
    expect(sealed[0]?.sealed.equals(sealed[1]?.sealed ?? Buffer.alloc(0))).toBe(false);
  });

  test('the current one, one that never was, and one of another secret are refused', async () => {
    const { id } = await store({ name: 'unchanged' });
    await expect(restore(id, 1)).rejects.toMatchObject({ code: 'conflict' });
    await expect(restore(id, 2)).rejects.toMatchObject({ code: 'not_found' });
    await expect(restore(uuidv7(), 1)).rejects.toMatchObject({ code: 'not_found' });
    expect(await versionsOf(id)).toEqual([1]);
  });

  test('are fifty at most: the oldest are gone for good', async () => {
    const { id } = await store({ name: 'long-lived' });
    await Promise.all(Array.from({ length: 51 }, () => store({ name: 'long-lived' })));

    const versions = await versionsOf(id);
    expect(versions).toHaveLength(50);
    expect(versions.at(-1)).toBe(3);
    await expect(restore(id, 2)).rejects.toMatchObject({ code: 'not_found' });
    expect(await restore(id, 3)).toMatchObject({ version: 53 });
  });

  test('restoring and storing at once make one version each', async () => {
    const { id } = await store({ name: 'contended' });
    await store({ name: 'contended' });
    await Promise.all(
      Array.from({ length: 10 }, (_, at) =>
        at % 2 === 0 ? restore(id, 1) : store({ name: 'contended' }),
      ),
    );
    expect(await versionsOf(id)).toEqual([12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1]);
  });
});

describe('what uses a secret', () => {
  const service = (name: string, references: string[], owner_id: string | null = null) => ({
    id: uuidv7(),
    name,
    tier: owner_id === null ? ('org' as const) : ('user' as const),
    owner_id,
    references,
  });

  test('is told with it: the services that name it, and those that mean it for want of another', async () => {
    const bobId = uuidv7();
    const bob = world.principalOf({ role: 'member', userId: bobId, identityId: bobId });
    await world.gateway.createSecret(
      { principal: bob, body: { name: 'used', value: canary() } },
      soon(),
    );
    const own = await store({ name: 'used' });
    const shared = await store({ name: 'used', tier: 'org', allowed_hosts: ['a.example'] });
    world.uses.push(
      service('org/acme', ['org/used', 'org/more']),
      service('mine', ['used'], world.userId),
      service('of-bob', ['used'], bobId),
      service('falls-back', ['used'], uuidv7()),
      service('borrows', ['org/used'], world.userId),
    );
    const uses = async (id: string) =>
      (await world.gateway.getSecret({ principal: world.admin, id }, soon())).used_by;

    expect((await uses(own.id)).map(({ name }) => name)).toEqual(['mine']);
    expect(await uses(shared.id)).toMatchObject([
      { name: 'org/acme', tier: 'org', owner_id: null },
      { name: 'falls-back', tier: 'user' },
      { name: 'borrows', tier: 'user', owner_id: world.userId },
    ]);
    const { items } = await world.gateway.listSecrets(
      { principal: world.admin, page: { limit: 200, cursor: null } },
      soon(),
    );
    expect(items.find(({ id }) => id === own.id)?.used_by).toHaveLength(1);
    world.uses.push(
      ...Array.from({ length: 60 }, (_, at) => service(`org/more_${at}`, ['org/used'])),
    );
    expect(await uses(shared.id)).toHaveLength(50);
  });
});
