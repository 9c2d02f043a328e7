import { v7 as newId } from 'uuid';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';

import { createClient, deadlineIn } from '#bus';
import { policy } from '#contracts/bus/policy';
import type { TemplateReference } from '#contracts/call';
import type { CompiledTemplate } from '#contracts/template';
import { connectGithub, createIssue, createPolicyWorld, testDeadline } from '../world.testing.ts';
import type { TestIdentity, PolicyWorld } from '../world.testing.ts';

let world: PolicyWorld;
let ann: TestIdentity;
let bot: TestIdentity;
let shippedTemplate: CompiledTemplate;
let testVersion = 0;

beforeAll(async () => {
  world = await createPolicyWorld();
  ann = world.user('ann', { role: 'admin' });
  bot = world.below(ann, 'bot');
  connectGithub(world, ann);
  [shippedTemplate] = world.neighbours.templates as [CompiledTemplate];
});
afterAll(() => world[Symbol.asyncDispose]());
beforeEach(() => void (testVersion += 1));

/**
 * Saves the template version in the registry and pins the service to this version. Policy does not
 * record the version.
 */
async function saveTemplate(
  owner: Pick<TemplateReference, 'tier' | 'ownerId'>,
  change: Partial<CompiledTemplate> = {},
): Promise<void> {
  const [service] = world.neighbours.services;
  if (service === undefined) throw new Error('github is connected');
  service.template = { key: 'github', version: testVersion, ...owner };
  world.neighbours.forgedTemplate = { ...shippedTemplate, ...service.template, ...change };
  await world.settle();
}

const record = (identity: TestIdentity, tier: 'user' | 'org') =>
  world.gateway.recordTemplate(
    { principal: world.sign(identity), key: 'github', tier, version: testVersion },
    testDeadline(),
  );
const forget = (identity: TestIdentity, tier: 'user' | 'org') =>
  world.gateway.forgetTemplate(
    { principal: world.sign(identity), key: 'github', tier },
    testDeadline(),
  );
const countDigests = async (version: number) => {
  const rows = await world.db`
    select digest from policy.known_template where tier <> 'global' and version = ${version}
  `;
  return rows.length;
};

describe('the recorded content of a template version', () => {
  test('does not change when the version is published again with other content', async () => {
    await saveTemplate({ tier: 'org', ownerId: ann.orgId });
    await record(ann, 'org');
    await saveTemplate({ tier: 'org', ownerId: ann.orgId }, { hosts: ['evil.example'] });
    const notGenuineRefusal = { code: 'unavailable', details: { reason: 'template_not_genuine' } };
    await expect(record(ann, 'org')).rejects.toMatchObject(notGenuineRefusal);
    await Promise.allSettled(Array.from({ length: 5 }, () => record(ann, 'org')));
    expect(await countDigests(testVersion)).toBe(1);
    await expect(world.decide(bot, createIssue)).rejects.toMatchObject(notGenuineRefusal);
    await saveTemplate({ tier: 'org', ownerId: ann.orgId });
    await record(ann, 'org');
    expect((await world.decide(bot, createIssue)).outcome).toBe('gap');
  });

  test('is the content that policy received first, when several requests record the version at once', async () => {
    await saveTemplate({ tier: 'org', ownerId: ann.orgId });
    const claimedTemplate = {
      ...shippedTemplate,
      tier: 'org',
      ownerId: ann.orgId,
      version: testVersion,
    } as const;
    let requestCount = 0;
    const nextTitle = () => `Said ${(requestCount += 1)}`;
    const forgedProperty = {
      configurable: true,
      get: () => ({ ...claimedTemplate, title: nextTitle() }),
    };
    Object.defineProperty(world.neighbours, 'forgedTemplate', forgedProperty);
    const outcomes = await Promise.allSettled(Array.from({ length: 10 }, () => record(ann, 'org')));
    Object.defineProperty(world.neighbours, 'forgedTemplate', {
      configurable: true,
      value: null,
      writable: true,
    });
    expect(outcomes.filter(({ status }) => status === 'fulfilled')).toHaveLength(1);
    expect(await countDigests(testVersion)).toBe(1);
  });

  test('is missing for a version from an earlier release; the error asks to publish the template again', async () => {
    await saveTemplate({ tier: 'org', ownerId: ann.orgId });
    await expect(world.decide(bot, createIssue)).rejects.toMatchObject({
      details: { reason: 'template_not_genuine' },
      message: expect.stringContaining('/v1/templates/github/publish?tier=org'),
    });
    await record(ann, 'org');
    await saveTemplate({ tier: 'org', ownerId: ann.orgId }, { title: 'Other' });
    await expect(world.decide(bot, createIssue)).rejects.toMatchObject({
      details: { reason: 'template_not_genuine' },
      message: expect.stringMatching(/^(?!.*publish\?).*not as it was shipped or published/),
    });
  });
});

describe('the number of recorded template versions', () => {
  const insertVersions = async (
    owner: Pick<TemplateReference, 'tier' | 'ownerId'>,
    count: number,
  ) => {
    await world.db`
      insert into policy.known_template (id, org_id, tier, owner_id, key, version, digest)
      select gen_random_uuid(), ${ann.orgId}, ${owner.tier}, ${owner.ownerId}, 'github',
             100000 + n, ${'0'.repeat(64)}
        from generate_series(1, ${count}::integer) as n
    `;
  };

  test('is limited for each owner, and becomes smaller when a template is deleted', async () => {
    const bob = world.user('bob');
    const eve = world.user('eve');
    await insertVersions({ tier: 'user', ownerId: bob.id }, 5_000);
    await saveTemplate({ tier: 'user', ownerId: bob.id });
    await expect(record(bob, 'user')).rejects.toMatchObject({
      code: 'conflict',
      message: expect.stringMatching(/5000.*[Dd]elete/),
    });
    await saveTemplate({ tier: 'user', ownerId: eve.id });
    await expect(record(eve, 'user')).resolves.toEqual({});
    await saveTemplate({ tier: 'org', ownerId: ann.orgId });
    await expect(record(ann, 'org')).resolves.toEqual({});

    await forget(eve, 'user');
    await saveTemplate({ tier: 'user', ownerId: bob.id });
    await expect(record(bob, 'user')).rejects.toMatchObject({ code: 'conflict' });
    await forget(bob, 'user');
    await expect(record(bob, 'user')).resolves.toEqual({});
    await expect(record(ann, 'org')).rejects.toMatchObject({ code: 'unavailable' });
  });

  test('becomes smaller only for callers who may publish templates, and only by requests of the gateway', async () => {
    const member = world.user('carl');
    const auditor = world.user('ida', { role: 'auditor' });
    for (const identity of [member, auditor, bot]) {
      // oxlint-disable-next-line no-await-in-loop -- one after another
      await expect(forget(identity, 'org')).rejects.toMatchObject({ code: 'forbidden' });
    }
    await expect(forget(bot, 'user')).rejects.toMatchObject({ code: 'forbidden' });
    const registry = createClient(await world.bus('registry'), policy);
    const fields = { principal: world.sign(ann), key: 'github', tier: 'org' } as const;
    await expect(registry.forgetTemplate(fields, deadlineIn(500))).rejects.toMatchObject({
      code: 'unavailable',
    });
  });
});

describe("the list of hosts that a service's credentials may go to", () => {
  const listHostsFor = async (template: Partial<TemplateReference>, baseUrl: string | null) => {
    const executor = createClient(await world.bus('executor'), policy);
    const reference = {
      key: 'github',
      tier: 'global' as const,
      ownerId: null,
      version: testVersion,
      ...template,
    };
    return executor.listServiceHosts(
      { orgId: ann.orgId, userId: ann.id, template: reference, baseUrl },
      testDeadline(),
    );
  };

  test('contains the hosts of the template or of a base URL that an admin gave', async () => {
    const publishedTemplate = { tier: 'org', ownerId: ann.orgId } as const;
    await saveTemplate(publishedTemplate);
    const notGenuineRefusal = { code: 'unavailable', details: { reason: 'template_not_genuine' } };
    await expect(listHostsFor(publishedTemplate, null)).rejects.toMatchObject(notGenuineRefusal);
    await record(ann, 'org');
    expect(await listHostsFor(publishedTemplate, null)).toEqual({ hosts: shippedTemplate.hosts });
    expect(await listHostsFor(publishedTemplate, 'https://api.github.example')).toEqual({
      hosts: shippedTemplate.hosts,
    });

    const givenUrl = 'https://git.acme.example/api';
    const addressNotGenuine = { code: 'unavailable', details: { reason: 'address_not_genuine' } };
    await expect(listHostsFor(publishedTemplate, givenUrl)).rejects.toMatchObject(
      addressNotGenuine,
    );
    await world.gateway.recordAddress(
      { principal: world.sign(ann), baseUrl: givenUrl },
      testDeadline(),
    );
    expect(await listHostsFor(publishedTemplate, givenUrl)).toEqual({
      hosts: ['git.acme.example'],
    });
  });

  test("does not contain hosts of another user's template", async () => {
    const bob = world.user('bob');
    const templateOfBob = { tier: 'user', ownerId: bob.id } as const;
    await saveTemplate(templateOfBob);
    await record(bob, 'user');
    await expect(listHostsFor(templateOfBob, null)).rejects.toMatchObject({ code: 'unavailable' });
  });

  test('is returned only to the executor', async () => {
    const registry = createClient(await world.bus('registry'), policy);
    const template = { key: 'github', tier: 'global', ownerId: null, version: 1 } as const;
    const request = { orgId: newId(), userId: newId(), template, baseUrl: null };
    await expect(registry.listServiceHosts(request, deadlineIn(500))).rejects.toMatchObject({
      code: 'unavailable',
    });
  });
});
