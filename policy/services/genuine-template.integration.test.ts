import { v7 as newId } from 'uuid';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';

import { createClient, deadlineIn } from '#bus';
import { policy } from '#contracts/bus/policy';
import type { Call, TemplateReference } from '#contracts/call';
import type { CompiledAction, CompiledTemplate } from '#contracts/template';
import { templateDigest } from '#templates';
import {
  connectGithub,
  createIssue,
  createPolicyWorld,
  httpCallOf,
  listIssues,
  callOptions,
  testDeadline,
} from '../world.testing.ts';
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
beforeEach(async () => {
  testVersion += 1;
  await pinTemplate({});
});

/** Pins the service to this template version. Policy has not cached the version. */
async function pinTemplate(reference: Partial<TemplateReference>): Promise<TemplateReference> {
  const { services, templates } = world.neighbours;
  const [service] = services;
  if (service === undefined) throw new Error('github is connected');
  service.template = {
    key: 'github',
    tier: 'global',
    ownerId: null,
    version: testVersion,
    ...reference,
  };
  const { toolset: _tools, ...names } = service.template;
  templates.splice(0, templates.length, { ...shippedTemplate, ...names });
  world.neighbours.forgedTemplate = null;
  await world.settle();
  return service.template;
}

function changeCreateAction(change: Partial<CompiledAction>): Partial<CompiledTemplate> {
  const create = shippedTemplate.actions['issues.create'];
  if (create === undefined) throw new Error('issues are created');
  return { actions: { ...shippedTemplate.actions, 'issues.create': { ...create, ...change } } };
}

async function expectRefused(): Promise<void> {
  const dryRun = {
    principal: world.sign(bot),
    call: createIssue,
    options: callOptions,
    asIdentityId: null,
  };
  const attempts = [
    () => world.decide(bot, createIssue),
    () => world.decide(ann, createIssue),
    () => world.gateway.explain(dryRun, testDeadline()),
  ];
  for (const attempt of attempts) {
    // oxlint-disable-next-line no-await-in-loop -- one after another
    await expect(attempt()).rejects.toMatchObject({
      code: 'unavailable',
      details: { component: 'registry', reason: 'template_not_genuine' },
    });
  }
}

describe("the registry's answer for a built-in template", () => {
  test('is accepted when its content is the shipped one, and both permit and permission gap name the version', async () => {
    const permit = world.permitIn(await world.decide(bot, listIssues));
    const gap = world.gapIn(await world.decide(bot, createIssue));
    expect(permit.templateDigest).toBe(templateDigest(shippedTemplate));
    expect(gap.templateDigest).toBe(templateDigest(shippedTemplate));
  });

  test.each<[string, () => Partial<CompiledTemplate>]>([
    ['another host', () => ({ hosts: ['evil.example'] })],
    [
      'another server',
      () => ({ server: { url: 'https://evil.example', variables: [], baseUrlAllowed: true } }),
    ],
    ['a lower risk', () => changeCreateAction({ risk: 'read' })],
    ['another method', () => changeCreateAction({ method: 'GET' })],
    ['another path', () => changeCreateAction({ path: '/messages' })],
    ['no scope parameter', () => changeCreateAction({ scopeParam: null })],
    ['another description', () => changeCreateAction({ description: [{ text: 'Look around' }] })],
    ['more redacted fields', () => changeCreateAction({ redact: ['body'] })],
    [
      'other disclosed fields',
      () => changeCreateAction({ disclose: [{ label: 'All', filter: '"fine"', maxChars: null }] }),
    ],
    [
      'its credential in another place',
      () => ({
        auth: shippedTemplate.auth.map((each) =>
          each.type === 'apiKey' ? { ...each, in: 'query' } : each,
        ),
      }),
    ],
    ['no credential', () => ({ security: [] })],
    ['a missing action', () => ({ actions: withoutRead() })],
    ['another version number', () => ({ version: testVersion + 1_000 })],
    ['another key', () => ({ key: 'gitlab' })],
    ['an owner', () => ({ tier: 'org', ownerId: ann.orgId })],
  ])('is refused when it has %s, and is not cached', async (_what, change) => {
    world.neighbours.forgedTemplate = { ...shippedTemplate, version: testVersion, ...change() };
    await expectRefused();
    world.neighbours.forgedTemplate = null;
    expect((await world.decide(bot, listIssues)).outcome).toBe('permit');
  });

  test('is checked again when an approved call is replayed', async () => {
    const gap = world.gapIn(await world.decide(bot, createIssue));
    const replay = (signed: typeof gap) =>
      world.approvals.permitReplay(
        {
          gap: world.signGap(signed),
          decision: world.decision(signed, ann),
          executionId: newId(),
          cascade: null,
        },
        testDeadline(),
      );
    expect((await replay(gap)).outcome).toBe('permit');
    await expect(replay({ ...gap, templateDigest: 'd'.repeat(64) })).rejects.toMatchObject({
      code: 'approval_stale',
      details: { changed: 'template' },
    });
  });

  function withoutRead(): CompiledTemplate['actions'] {
    const { 'issues.list': _read, ...others } = shippedTemplate.actions;
    return others;
  }
});

describe("the registry's answer for a published template", () => {
  test('is accepted for the org, and for the user who makes the call', async () => {
    for (const owner of [
      { tier: 'org', ownerId: ann.orgId } as const,
      { tier: 'user', ownerId: ann.id } as const,
    ]) {
      // oxlint-disable-next-line no-await-in-loop -- one after another
      await pinTemplate(owner);
      // oxlint-disable-next-line no-await-in-loop -- one after another
      expect((await world.decide(bot, createIssue)).outcome).toBe('gap');
    }
  });

  test('is refused when its content differs from the published content', async () => {
    await pinTemplate({ tier: 'org', ownerId: ann.orgId });
    const [published] = world.neighbours.templates as [CompiledTemplate];
    world.neighbours.forgedTemplate = { ...published, ...changeCreateAction({ risk: 'read' }) };
    await expectRefused();
  });

  test('is refused when it has the number of another version', async () => {
    await pinTemplate({ tier: 'org', ownerId: ann.orgId });
    const [first] = world.neighbours.templates as [CompiledTemplate];
    world.neighbours.templates[0] = { ...first, ...changeCreateAction({ summary: 'The first' }) };
    expect((await world.decide(bot, createIssue)).outcome).toBe('gap');
    testVersion += 1;
    await pinTemplate({ tier: 'org', ownerId: ann.orgId });
    world.neighbours.forgedTemplate = {
      ...first,
      ...changeCreateAction({ summary: 'The first' }),
      version: testVersion,
    };
    await expectRefused();
  });

  test('is refused when another org or another user published it', async () => {
    for (const owner of [
      { tier: 'org', ownerId: newId() } as const,
      { tier: 'user', ownerId: newId() } as const,
    ]) {
      // oxlint-disable-next-line no-await-in-loop -- one after another
      await pinTemplate(owner);
      // oxlint-disable-next-line no-await-in-loop -- one after another
      await expectRefused();
    }
  });
});

describe('recording a published template with policy', () => {
  const record = (identity: TestIdentity, tier: 'user' | 'org') =>
    world.gateway.recordTemplate(
      { principal: world.sign(identity), key: 'github', tier, version: testVersion },
      testDeadline(),
    );

  /** Saves the template in the registry. Policy does not record the template. */
  async function saveTemplate(owner: Pick<TemplateReference, 'tier' | 'ownerId'>): Promise<void> {
    await pinTemplate(owner);
    const [saved] = world.neighbours.templates as [CompiledTemplate];
    world.neighbours.forgedTemplate = saved;
  }

  test('makes policy accept this content, and no other content under the version number', async () => {
    await saveTemplate({ tier: 'org', ownerId: ann.orgId });
    await expectRefused();
    await record(ann, 'org');
    await record(ann, 'org');
    expect((await world.decide(bot, createIssue)).outcome).toBe('gap');

    await using replica = await world.startReplica();
    expect(replica).toBeDefined();
    const templateBefore = world.neighbours.forgedTemplate;
    world.neighbours.forgedTemplate = {
      ...(templateBefore as CompiledTemplate),
      ...changeCreateAction({ risk: 'read' }),
    };
    const outcomes = await Promise.allSettled(
      Array.from({ length: 20 }, () => world.decide(bot, createIssue)),
    );
    // One replica has the published template in its cache. The other replica asks the registry and
    // refuses its answer.
    const seenOutcomes = outcomes.map((each) =>
      each.status === 'fulfilled' ? each.value.outcome : each.reason.details.reason,
    );
    expect(new Set(seenOutcomes)).toEqual(new Set(['gap', 'template_not_genuine']));
  });

  test('is allowed to admins, and to members for their own templates', async () => {
    const member = world.user('bob');
    const auditor = world.user('eve', { role: 'auditor' });
    await saveTemplate({ tier: 'org', ownerId: ann.orgId });
    for (const identity of [member, auditor, bot, world.below(member, 'hers')]) {
      // oxlint-disable-next-line no-await-in-loop -- one after another
      await expect(record(identity, 'org')).rejects.toMatchObject({ code: 'forbidden' });
    }
    await saveTemplate({ tier: 'user', ownerId: member.id });
    for (const identity of [auditor, bot]) {
      // oxlint-disable-next-line no-await-in-loop -- one after another
      await expect(record(identity, 'user')).rejects.toMatchObject({ code: 'forbidden' });
    }
    // The record applies to this user only.
    await expect(record(ann, 'user')).rejects.toMatchObject({ code: 'unavailable' });
    await expect(record(member, 'user')).resolves.toEqual({});
  });

  test('is accepted from the gateway only', async () => {
    const fields = { principal: world.sign(ann), key: 'github', tier: 'org', version: 1 } as const;
    const others = await Promise.all(
      (['registry', 'executor', 'approvals'] as const).map(async (component) =>
        createClient(await world.bus(component), policy)
          .recordTemplate(fields, deadlineIn(500))
          .then(
            () => 'recorded',
            (error: { code: string }) => error.code,
          ),
      ),
    );
    expect(others).toEqual(['unavailable', 'unavailable', 'unavailable']);
  });
});

describe('the address of a service, as the registry returns it,', () => {
  const setBaseUrl = async (baseUrl: string) => {
    const [service] = world.neighbours.services;
    if (service !== undefined) service.baseUrl = baseUrl;
    await world.settle();
  };
  const recordAddressAs = (identity: TestIdentity, baseUrl: string) =>
    world.gateway.recordAddress({ principal: world.sign(identity), baseUrl }, testDeadline());
  const outcomeOf = (call: Call) =>
    world.decide(bot, call).then(
      ({ outcome }) => outcome,
      (error: { details: { reason: string } }) => error.details.reason,
    );

  beforeEach(() => void (world.neighbours.areAddressesGiven = false));
  afterAll(() => void (world.neighbours.areAddressesGiven = true));

  test('is accepted if the template or an admin of the org gave the address', async () => {
    await setBaseUrl('https://git.acme.example/api');
    const verbCall = httpCallOf({ service: 'github', target: '/zen' });
    expect(await outcomeOf(createIssue)).toBe('address_not_genuine');
    expect(await outcomeOf(verbCall)).toBe('address_not_genuine');

    const stranger = world.user('mallory', { role: 'admin', orgId: newId() });
    await recordAddressAs(stranger, 'https://git.acme.example/api');
    expect(await outcomeOf(createIssue)).toBe('address_not_genuine');

    await recordAddressAs(ann, 'https://Git.Acme.example:443/api/');
    expect(await outcomeOf(createIssue)).not.toBe('address_not_genuine');
    await setBaseUrl('https://git.acme.example/other');
    expect(await outcomeOf(createIssue)).toBe('address_not_genuine');
    await setBaseUrl('https://api.github.example');
    expect(await outcomeOf(createIssue)).toBe('gap');
  });

  test('is recorded only for admins, and only from the gateway', async () => {
    const member = world.user('bob');
    for (const identity of [member, bot, world.user('eve', { role: 'auditor' })]) {
      // oxlint-disable-next-line no-await-in-loop -- one after another
      await expect(recordAddressAs(identity, 'https://x.example')).rejects.toMatchObject({
        code: 'forbidden',
      });
    }
    const registry = createClient(await world.bus('registry'), policy);
    const request = { principal: world.sign(ann), baseUrl: 'https://x.example' };
    await expect(registry.recordAddress(request, deadlineIn(500))).rejects.toMatchObject({
      code: 'unavailable',
    });
  });
});
