import { v7 as uuidv7 } from 'uuid';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';

import type { Principal } from '#contracts/vocabulary';
import { canary, context, createWorld, options, testDeadline } from '../world.testing.ts';
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

describe('changing a secret', () => {
  const changeSecret = (
    id: string,
    body: Parameters<World['gateway']['updateSecret']>[0]['body'],
    principal = world.admin,
  ) => world.gateway.updateSecret({ principal, id, body, context }, testDeadline());

  test('can set its hosts or its description, and is in the audit log', async () => {
    const { id } = await storeSecret({
      name: 'moved',
      description: 'old',
      allowed_hosts: ['a.example'],
    });

    expect(await changeSecret(id, { allowed_hosts: ['B.example', 'c.example'] })).toMatchObject({
      description: 'old',
      current_version: 1,
      allowed_hosts: ['b.example', 'c.example'],
    });
    expect(await changeSecret(id, { description: null })).toMatchObject({
      description: null,
      allowed_hosts: ['b.example', 'c.example'],
    });
    expect(await changeSecret(id, { allowed_hosts: [] })).toMatchObject({ allowed_hosts: [] });
    const listAuditTexts = () =>
      world.announced
        .filter(({ data }) => data['secret_id'] === id)
        .map(({ audit }) => [audit?.description, audit?.request_id, audit?.ip]);
    await expect
      .poll(listAuditTexts)
      .toEqual(
        [
          'Stored secret moved',
          'Let secret moved go to b.example, c.example alone',
          'Changed the description of secret moved',
          'Let secret moved go to no host alone',
        ].map((text) => [text, context.requestId, context.ip]),
      );
  });

  test('is refused when a secret of the org would have no hosts', async () => {
    const { id } = await storeSecret({ name: 'fixed', tier: 'org', allowed_hosts: ['a.example'] });
    await expect(changeSecret(id, { allowed_hosts: [] })).rejects.toMatchObject({
      code: 'host_not_allowed',
    });
  });

  test('affects the next call when it sets other hosts', async () => {
    const { host } = world.upstream;
    const { id } = await storeSecret({ name: 'closing', allowed_hosts: [host] });
    const call = world.actionCall('get', { id: '1' });
    const callWithSecret = () =>
      world.gateway.execute(
        { permit: world.permitOf(call, { secrets: [{ id, name: 'x' }] }), call, options, context },
        testDeadline(),
      );
    await callWithSecret();
    await changeSecret(id, { allowed_hosts: ['elsewhere.example'] });
    const findCallOutcome = () =>
      callWithSecret().then(
        () => 'sent',
        ({ code }: { code: string }) => code,
      );
    expect(await findCallOutcome()).toBe('host_not_allowed');
  });

  test('affects the next call when it sets a new value', async () => {
    const { host } = world.upstream;
    const call = world.actionCall('get', { id: '1' });
    for (let round = 0; round < 10; round += 1) {
      const value = canary();
      const { id } = await storeSecret({ name: 'renewed', allowed_hosts: [host], value });
      world.upstream.reset();
      const permit = world.permitOf(call, { secrets: [{ id, name: 'renewed' }] });
      await world.gateway.execute({ permit, call, options, context }, testDeadline());
      expect(world.upstream.hits[0]?.headers.authorization).toContain(value);
    }
  });

  /** Each row is a caller who tries every way to let a secret go to another host. */
  test.for<[who: string, principal: () => string, own: string, org: string]>([
    ['the member who owns the user’s secret', () => createMember(), 'allowed', 'forbidden'],
    [
      'a member who does not own the user’s secret',
      () => createMember({ userId: uuidv7() }),
      'not_found',
      'forbidden',
    ],
    [
      'an admin who does not own the user’s secret',
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
      'an admin of another org',
      () => world.principalOf({ role: 'admin', orgId: uuidv7() }),
      'not_found',
      'not_found',
    ],
  ])(
    'is $2 for the user’s secret and $3 for the org’s secret, when made by %s',
    async ([, principal, ownSecret, org]) => {
      const name = `path-${uuidv7()}`;
      const orgSecret = await storeSecret({ name, allowed_hosts: ['a.example'] });
      const shared = await storeSecret({ name, tier: 'org', allowed_hosts: ['a.example'] });
      const outcomeTextOf = (work: Promise<unknown>) =>
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
        [orgSecret, ownSecret],
        [shared, org],
      ] as const) {
        const { id } = secret;
        const movedHosts = { allowed_hosts: ['evil.example'] };
        expect(await outcomeTextOf(changeSecret(id, movedHosts, principal()))).toBe(expected);
        expect(
          await outcomeTextOf(
            world.gateway.restoreSecretVersion(
              { principal: principal(), id, version: 1, context },
              testDeadline(),
            ),
          ),
        ).toBe(expected === 'allowed' ? 'conflict' : expected);
        if (expected === 'allowed') continue;
        await outcomeTextOf(storeSecret({ name, tier: secret.tier, ...movedHosts }, principal()));
        world.genuine.hosts = movedHosts.allowed_hosts;
        await outcomeTextOf(
          world.registry.allowSecretHosts(
            {
              principal: principal(),
              reference: secret.tier === 'org' ? `org/${name}` : name,
              hosts: movedHosts.allowed_hosts,
              template: { key: 'github', tier: 'global', ownerId: null, version: 1 },
              baseUrl: 'https://evil.example',
            },
            testDeadline(),
          ),
        );
        expect(await hostsOf(id)).toEqual(['a.example']);
      }
    },
  );
});

describe('the versions of a secret', () => {
  const restoreVersion = (id: string, version: number, principal = world.admin) =>
    world.gateway.restoreSecretVersion({ principal, id, version, context }, testDeadline());
  const versionsOf = async (id: string) =>
    (
      await world.gateway.listSecretVersions(
        { principal: world.admin, id, page: { limit: 200, cursor: null } },
        testDeadline(),
      )
    ).items.map(({ version }) => version);

  test('include, after a restore, the earlier value as the next version, which is then sent', async () => {
    const { host } = world.upstream;
    const [first, second] = [canary(), canary()];
    const { id } = await storeSecret({ name: 'restored', value: first, allowed_hosts: [host] });
    await storeSecret({ name: 'restored', value: second });
    const call = world.actionCall('get', { id: '1' });
    const sentHeader = async () => {
      const permit = world.permitOf(call, { secrets: [{ id, name: 'x' }] });
      await world.gateway.execute({ permit, call, options, context }, testDeadline());
      return world.upstream.hits.at(-1)?.headers.authorization;
    };
    expect(await sentHeader()).toBe(`Bearer ${second}`);

    expect(await restoreVersion(id, 1)).toMatchObject({ id, version: 3, allowed_hosts: [host] });
    await expect.poll(sentHeader).toBe(`Bearer ${first}`);
    expect(await versionsOf(id)).toEqual([3, 2, 1]);
    const sealed = await world.sql<{ sealed: Buffer }[]>`
      select sealed from executor.secret_version where secret_id = ${id} and version in (1, 3)
    `;
    expect(sealed[0]?.sealed.equals(sealed[1]?.sealed ?? Buffer.alloc(0))).toBe(false);
  });

  test('cannot be restored if they are current, unknown or of another secret', async () => {
    const { id } = await storeSecret({ name: 'unchanged' });
    await expect(restoreVersion(id, 1)).rejects.toMatchObject({ code: 'conflict' });
    await expect(restoreVersion(id, 2)).rejects.toMatchObject({ code: 'not_found' });
    await expect(restoreVersion(uuidv7(), 1)).rejects.toMatchObject({ code: 'not_found' });
    expect(await versionsOf(id)).toEqual([1]);
  });

  test('are limited to the latest fifty', async () => {
    const { id } = await storeSecret({ name: 'long-lived' });
    await Promise.all(Array.from({ length: 51 }, () => storeSecret({ name: 'long-lived' })));

    const versions = await versionsOf(id);
    expect(versions).toHaveLength(50);
    expect(versions.at(-1)).toBe(3);
    await expect(restoreVersion(id, 2)).rejects.toMatchObject({ code: 'not_found' });
    expect(await restoreVersion(id, 3)).toMatchObject({ version: 53 });
  });

  test('are one more for each concurrent restore or write', async () => {
    const { id } = await storeSecret({ name: 'contended' });
    await storeSecret({ name: 'contended' });
    await Promise.all(
      Array.from({ length: 10 }, (_, at) =>
        at % 2 === 0 ? restoreVersion(id, 1) : storeSecret({ name: 'contended' }),
      ),
    );
    expect(await versionsOf(id)).toEqual([12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1]);
  });
});

describe('the services that use a secret', () => {
  const serviceOf = (name: string, references: string[], owner_id: string | null = null) => ({
    id: uuidv7(),
    name,
    tier: owner_id === null ? ('org' as const) : ('user' as const),
    owner_id,
    references,
  });

  test('are listed with the secret, even those that refer to an org’s secret without org/', async () => {
    const bobId = uuidv7();
    const bob = world.principalOf({ role: 'member', userId: bobId, identityId: bobId });
    await world.gateway.createSecret(
      { principal: bob, body: { name: 'used', value: canary() } },
      testDeadline(),
    );
    const ownSecret = await storeSecret({ name: 'used' });
    const shared = await storeSecret({ name: 'used', tier: 'org', allowed_hosts: ['a.example'] });
    world.uses.push(
      serviceOf('org/acme', ['org/used', 'org/more']),
      serviceOf('mine', ['used'], world.userId),
      serviceOf('of-bob', ['used'], bobId),
      serviceOf('falls-back', ['used'], uuidv7()),
      serviceOf('borrows', ['org/used'], world.userId),
    );
    const listUses = async (id: string) =>
      (await world.gateway.getSecret({ principal: world.admin, id }, testDeadline())).used_by;

    expect((await listUses(ownSecret.id)).map(({ name }) => name)).toEqual(['mine']);
    expect(await listUses(shared.id)).toMatchObject([
      { name: 'org/acme', tier: 'org', owner_id: null },
      { name: 'falls-back', tier: 'user' },
      { name: 'borrows', tier: 'user', owner_id: world.userId },
    ]);
    const { items } = await world.gateway.listSecrets(
      { principal: world.admin, page: { limit: 200, cursor: null } },
      testDeadline(),
    );
    expect(items.find(({ id }) => id === ownSecret.id)?.used_by).toHaveLength(1);
    world.uses.push(
      ...Array.from({ length: 60 }, (_, at) => serviceOf(`org/more_${at}`, ['org/used'])),
    );
    expect(await listUses(shared.id)).toHaveLength(50);
  });
});
