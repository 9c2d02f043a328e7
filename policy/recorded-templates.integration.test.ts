import { v7 as newId } from 'uuid';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';

import { createClient, deadlineIn } from '#bus';
import { policy } from '#contracts/bus/policy';
import type { TemplateReference } from '#contracts/call';
import type { CompiledTemplate } from '#contracts/template';
import { connectGithub, createIssue, createPolicyWorld, soon } from './world.testing.ts';
import type { TestIdentity, PolicyWorld } from './world.testing.ts';

let world: PolicyWorld;
let ann: TestIdentity;
let bot: TestIdentity;
let honest: CompiledTemplate;
let number = 0;

beforeAll(async () => {
  world = await createPolicyWorld();
  ann = world.user('ann', { role: 'admin' });
  bot = world.below(ann, 'bot');
  connectGithub(world, ann);
  [honest] = world.neighbours.templates as [CompiledTemplate];
});
afterAll(() => world[Symbol.asyncDispose]());
beforeEach(() => void (number += 1));

/** The registry says that the service has this version, and policy was told nothing of it. */
async function save(
  owner: Pick<TemplateReference, 'tier' | 'ownerId'>,
  change: Partial<CompiledTemplate> = {},
): Promise<void> {
  const [service] = world.neighbours.services;
  if (service === undefined) throw new Error('github is connected');
  service.template = { key: 'github', version: number, ...owner };
  world.neighbours.lie = { ...honest, ...service.template, ...change };
  await world.settle();
}

const record = (being: TestIdentity, tier: 'user' | 'org') =>
  world.gateway.recordTemplate(
    { principal: world.sign(being), key: 'github', tier, version: number },
    soon(),
  );
const forget = (being: TestIdentity, tier: 'user' | 'org') =>
  world.gateway.forgetTemplate({ principal: world.sign(being), key: 'github', tier }, soon());
const digests = async (version: number) => {
  const rows = await world.db`
    select digest from policy.known_template where tier <> 'global' and version = ${version}
  `;
  return rows.length;
};

describe('a version that was recorded', () => {
  test('stays as it is, also when its publisher publishes it again and the registry says something else', async () => {
    await save({ tier: 'org', ownerId: ann.orgId });
    await record(ann, 'org');
    await save({ tier: 'org', ownerId: ann.orgId }, { hosts: ['evil.example'] });
    const refused = { code: 'unavailable', details: { reason: 'template_not_genuine' } };
    await expect(record(ann, 'org')).rejects.toMatchObject(refused);
    await Promise.allSettled(Array.from({ length: 5 }, () => record(ann, 'org')));
    expect(await digests(number)).toBe(1);
    await expect(world.decide(bot, createIssue)).rejects.toMatchObject(refused);
    await save({ tier: 'org', ownerId: ann.orgId });
    await record(ann, 'org');
    expect((await world.decide(bot, createIssue)).outcome).toBe('gap');
  });

  test('is the first one, of those that are recorded at once', async () => {
    await save({ tier: 'org', ownerId: ann.orgId });
    const said = { ...honest, tier: 'org', ownerId: ann.orgId, version: number } as const;
    let asked = 0;
    const title = () => `Said ${(asked += 1)}`;
    const lie = { configurable: true, get: () => ({ ...said, title: title() }) };
    Object.defineProperty(world.neighbours, 'lie', lie);
    const told = await Promise.allSettled(Array.from({ length: 10 }, () => record(ann, 'org')));
    Object.defineProperty(world.neighbours, 'lie', {
      configurable: true,
      value: null,
      writable: true,
    });
    expect(told.filter(({ status }) => status === 'fulfilled')).toHaveLength(1);
    expect(await digests(number)).toBe(1);
  });

  test('says, where it never was, that it is to be published again', async () => {
    await save({ tier: 'org', ownerId: ann.orgId });
    await expect(world.decide(bot, createIssue)).rejects.toMatchObject({
      details: { reason: 'template_not_genuine' },
      message: expect.stringContaining('/v1/templates/github/publish?tier=org'),
    });
    await record(ann, 'org');
    await save({ tier: 'org', ownerId: ann.orgId }, { title: 'Other' });
    await expect(world.decide(bot, createIssue)).rejects.toMatchObject({
      details: { reason: 'template_not_genuine' },
      message: expect.stringMatching(/^(?!.*publish\?).*not as it was shipped or published/),
    });
  });
});

describe('how many versions are recorded', () => {
  const fill = async (owner: Pick<TemplateReference, 'tier' | 'ownerId'>, count: number) => {
    await world.db`
      insert into policy.known_template (id, org_id, tier, owner_id, key, version, digest)
      select gen_random_uuid(), ${ann.orgId}, ${owner.tier}, ${owner.ownerId}, 'github',
             100000 + n, ${'0'.repeat(64)}
        from generate_series(1, ${count}::integer) as n
    `;
  };

  test('is limited for each owner, and room comes with deleting', async () => {
    const bob = world.user('bob');
    const eve = world.user('eve');
    await fill({ tier: 'user', ownerId: bob.id }, 5_000);
    await save({ tier: 'user', ownerId: bob.id });
    await expect(record(bob, 'user')).rejects.toMatchObject({
      code: 'conflict',
      message: expect.stringMatching(/5000.*[Dd]elete/),
    });
    await save({ tier: 'user', ownerId: eve.id });
    await expect(record(eve, 'user')).resolves.toEqual({});
    await save({ tier: 'org', ownerId: ann.orgId });
    await expect(record(ann, 'org')).resolves.toEqual({});

    await forget(eve, 'user');
    await save({ tier: 'user', ownerId: bob.id });
    await expect(record(bob, 'user')).rejects.toMatchObject({ code: 'conflict' });
    await forget(bob, 'user');
    await expect(record(bob, 'user')).resolves.toEqual({});
    await expect(record(ann, 'org')).rejects.toMatchObject({ code: 'unavailable' });
  });

  test('is made less by those alone who may publish, and through the gateway alone', async () => {
    const member = world.user('carl');
    const auditor = world.user('ida', { role: 'auditor' });
    for (const being of [member, auditor, bot]) {
      // oxlint-disable-next-line no-await-in-loop -- one after another
      await expect(forget(being, 'org')).rejects.toMatchObject({ code: 'forbidden' });
    }
    await expect(forget(bot, 'user')).rejects.toMatchObject({ code: 'forbidden' });
    const registry = createClient(await world.bus('registry'), policy);
    const fields = { principal: world.sign(ann), key: 'github', tier: 'org' } as const;
    await expect(registry.forgetTemplate(fields, deadlineIn(500))).rejects.toMatchObject({
      code: 'unavailable',
    });
  });
});

describe('the hosts that credentials of a service may be let go to', () => {
  const ask = async (template: Partial<TemplateReference>, baseUrl: string | null) => {
    const executor = createClient(await world.bus('executor'), policy);
    const reference = {
      key: 'github',
      tier: 'global' as const,
      ownerId: null,
      version: number,
      ...template,
    };
    return executor.listServiceHosts(
      { orgId: ann.orgId, userId: ann.id, template: reference, baseUrl },
      soon(),
    );
  };

  test('are those of its template, or of the base URL that an admin gave', async () => {
    const published = { tier: 'org', ownerId: ann.orgId } as const;
    await save(published);
    const refused = { code: 'unavailable', details: { reason: 'template_not_genuine' } };
    await expect(ask(published, null)).rejects.toMatchObject(refused);
    await record(ann, 'org');
    expect(await ask(published, null)).toEqual({ hosts: honest.hosts });
    expect(await ask(published, 'https://api.github.example')).toEqual({ hosts: honest.hosts });

    const given = 'https://git.acme.example/api';
    const moved = { code: 'unavailable', details: { reason: 'address_not_genuine' } };
    await expect(ask(published, given)).rejects.toMatchObject(moved);
    await world.gateway.recordAddress({ principal: world.sign(ann), baseUrl: given }, soon());
    expect(await ask(published, given)).toEqual({ hosts: ['git.acme.example'] });
  });

  test('are not those of what another person published', async () => {
    const bob = world.user('bob');
    const hers = { tier: 'user', ownerId: bob.id } as const;
    await save(hers);
    await record(bob, 'user');
    await expect(ask(hers, null)).rejects.toMatchObject({ code: 'unavailable' });
  });

  test('are told to the executor alone', async () => {
    const registry = createClient(await world.bus('registry'), policy);
    const template = { key: 'github', tier: 'global', ownerId: null, version: 1 } as const;
    const request = { orgId: newId(), userId: newId(), template, baseUrl: null };
    await expect(registry.listServiceHosts(request, deadlineIn(500))).rejects.toMatchObject({
      code: 'unavailable',
    });
  });
});
