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
  options,
  soon,
} from './world.testing.ts';
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
beforeEach(async () => {
  number += 1;
  await pin({});
});

/** The service has this version from now on, of which policy has kept nothing. */
async function pin(reference: Partial<TemplateReference>): Promise<TemplateReference> {
  const { services, templates } = world.neighbours;
  const [service] = services;
  if (service === undefined) throw new Error('github is connected');
  service.template = {
    key: 'github',
    tier: 'global',
    ownerId: null,
    version: number,
    ...reference,
  };
  const { toolset: _tools, ...names } = service.template;
  templates.splice(0, templates.length, { ...honest, ...names });
  world.neighbours.lie = null;
  await world.settle();
  return service.template;
}

function withCreate(change: Partial<CompiledAction>): Partial<CompiledTemplate> {
  const create = honest.actions['issues.create'];
  if (create === undefined) throw new Error('issues are created');
  return { actions: { ...honest.actions, 'issues.create': { ...create, ...change } } };
}

async function expectRefused(): Promise<void> {
  const dryRun = { principal: world.sign(bot), call: createIssue, options, asIdentityId: null };
  const attempts = [
    () => world.decide(bot, createIssue),
    () => world.decide(ann, createIssue),
    () => world.gateway.explain(dryRun, soon()),
  ];
  for (const attempt of attempts) {
    // oxlint-disable-next-line no-await-in-loop -- one after another
    await expect(attempt()).rejects.toMatchObject({
      code: 'unavailable',
      details: { component: 'registry', reason: 'template_not_genuine' },
    });
  }
}

describe('what the registry says of a built-in template', () => {
  test('is believed as it was shipped, and permit and gap say which it was', async () => {
    const permit = world.permitIn(await world.decide(bot, listIssues));
    const gap = world.gapIn(await world.decide(bot, createIssue));
    expect(permit.templateDigest).toBe(templateDigest(honest));
    expect(gap.templateDigest).toBe(templateDigest(honest));
  });

  test.each<[string, () => Partial<CompiledTemplate>]>([
    ['another host', () => ({ hosts: ['evil.example'] })],
    [
      'another server',
      () => ({ server: { url: 'https://evil.example', variables: [], baseUrlAllowed: true } }),
    ],
    ['a lower risk', () => withCreate({ risk: 'read' })],
    ['another method', () => withCreate({ method: 'GET' })],
    ['another path', () => withCreate({ path: '/messages' })],
    ['no scope parameter', () => withCreate({ scopeParam: null })],
    ['another sentence', () => withCreate({ description: [{ text: 'Look around' }] })],
    ['more of it hidden', () => withCreate({ redact: ['body'] })],
    [
      'something else disclosed',
      () => withCreate({ disclose: [{ label: 'All', filter: '"fine"', maxChars: null }] }),
    ],
    [
      'its credential in another place',
      () => ({
        auth: honest.auth.map((each) => (each.type === 'apiKey' ? { ...each, in: 'query' } : each)),
      }),
    ],
    ['no credential', () => ({ security: [] })],
    ['an action less', () => ({ actions: withoutRead() })],
    ['another number', () => ({ version: number + 1_000 })],
    ['another key', () => ({ key: 'gitlab' })],
    ['an owner', () => ({ tier: 'org', ownerId: ann.orgId })],
  ])('is refused with %s, and nothing of it is kept', async (_what, change) => {
    world.neighbours.lie = { ...honest, version: number, ...change() };
    await expectRefused();
    world.neighbours.lie = null;
    expect((await world.decide(bot, listIssues)).outcome).toBe('permit');
  });

  test('still holds when an approved call is replayed', async () => {
    const gap = world.gapIn(await world.decide(bot, createIssue));
    const replay = (signed: typeof gap) =>
      world.approvals.permitReplay(
        {
          gap: world.signGap(signed),
          decision: world.decision(signed, ann),
          executionId: newId(),
          cascade: null,
        },
        soon(),
      );
    expect((await replay(gap)).outcome).toBe('permit');
    await expect(replay({ ...gap, templateDigest: 'd'.repeat(64) })).rejects.toMatchObject({
      code: 'approval_stale',
      details: { changed: 'template' },
    });
  });

  function withoutRead(): CompiledTemplate['actions'] {
    const { 'issues.list': _read, ...others } = honest.actions;
    return others;
  }
});

describe('what the registry says of a published template', () => {
  test('is believed of the org, and of the user whose call it is', async () => {
    for (const owner of [
      { tier: 'org', ownerId: ann.orgId } as const,
      { tier: 'user', ownerId: ann.id } as const,
    ]) {
      // oxlint-disable-next-line no-await-in-loop -- one after another
      await pin(owner);
      // oxlint-disable-next-line no-await-in-loop -- one after another
      expect((await world.decide(bot, createIssue)).outcome).toBe('gap');
    }
  });

  test('is refused when it says something else than was published', async () => {
    await pin({ tier: 'org', ownerId: ann.orgId });
    const [published] = world.neighbours.templates as [CompiledTemplate];
    world.neighbours.lie = { ...published, ...withCreate({ risk: 'read' }) };
    await expectRefused();
  });

  test('is refused under the number of another version', async () => {
    await pin({ tier: 'org', ownerId: ann.orgId });
    const [first] = world.neighbours.templates as [CompiledTemplate];
    world.neighbours.templates[0] = { ...first, ...withCreate({ summary: 'The first' }) };
    expect((await world.decide(bot, createIssue)).outcome).toBe('gap');
    number += 1;
    await pin({ tier: 'org', ownerId: ann.orgId });
    world.neighbours.lie = { ...first, ...withCreate({ summary: 'The first' }), version: number };
    await expectRefused();
  });

  test('is refused when another org or another user published it', async () => {
    for (const owner of [
      { tier: 'org', ownerId: newId() } as const,
      { tier: 'user', ownerId: newId() } as const,
    ]) {
      // oxlint-disable-next-line no-await-in-loop -- one after another
      await pin(owner);
      // oxlint-disable-next-line no-await-in-loop -- one after another
      await expectRefused();
    }
  });
});

describe('recording what was published', () => {
  const record = (being: TestIdentity, tier: 'user' | 'org') =>
    world.gateway.recordTemplate(
      { principal: world.sign(being), key: 'github', tier, version: number },
      soon(),
    );

  /** The registry has it, and policy was not told. */
  async function save(owner: Pick<TemplateReference, 'tier' | 'ownerId'>): Promise<void> {
    await pin(owner);
    const [saved] = world.neighbours.templates as [CompiledTemplate];
    world.neighbours.lie = saved;
  }

  test('lets calls be decided by it, and by nothing else under its number', async () => {
    await save({ tier: 'org', ownerId: ann.orgId });
    await expectRefused();
    await record(ann, 'org');
    await record(ann, 'org');
    expect((await world.decide(bot, createIssue)).outcome).toBe('gap');

    await using replica = await world.startReplica();
    expect(replica).toBeDefined();
    const told = world.neighbours.lie;
    world.neighbours.lie = { ...(told as CompiledTemplate), ...withCreate({ risk: 'read' }) };
    const outcomes = await Promise.allSettled(
      Array.from({ length: 20 }, () => world.decide(bot, createIssue)),
    );
    // One has kept what was published, the other has to ask and does not believe the answer.
    const seen = outcomes.map((each) =>
      each.status === 'fulfilled' ? each.value.outcome : each.reason.details.reason,
    );
    expect(new Set(seen)).toEqual(new Set(['gap', 'template_not_genuine']));
  });

  test('is for admins, and for members their own', async () => {
    const member = world.user('bob');
    const auditor = world.user('eve', { role: 'auditor' });
    await save({ tier: 'org', ownerId: ann.orgId });
    for (const being of [member, auditor, bot, world.below(member, 'hers')]) {
      // oxlint-disable-next-line no-await-in-loop -- one after another
      await expect(record(being, 'org')).rejects.toMatchObject({ code: 'forbidden' });
    }
    await save({ tier: 'user', ownerId: member.id });
    for (const being of [auditor, bot]) {
      // oxlint-disable-next-line no-await-in-loop -- one after another
      await expect(record(being, 'user')).rejects.toMatchObject({ code: 'forbidden' });
    }
    // What the registry gives is hers alone: nobody else can take it for theirs.
    await expect(record(ann, 'user')).rejects.toMatchObject({ code: 'unavailable' });
    await expect(record(member, 'user')).resolves.toEqual({});
  });

  test('is asked for by the gateway alone', async () => {
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

describe('where the registry says that a service is', () => {
  const move = async (baseUrl: string) => {
    const [service] = world.neighbours.services;
    if (service !== undefined) service.baseUrl = baseUrl;
    await world.settle();
  };
  const give = (being: TestIdentity, baseUrl: string) =>
    world.gateway.recordAddress({ principal: world.sign(being), baseUrl }, soon());
  const outcomeOf = (call: Call) =>
    world.decide(bot, call).then(
      ({ outcome }) => outcome,
      (error: { details: { reason: string } }) => error.details.reason,
    );

  beforeEach(() => void (world.neighbours.areAddressesGiven = false));
  afterAll(() => void (world.neighbours.areAddressesGiven = true));

  test('is where its template puts it, or where an admin of the org did', async () => {
    await move('https://git.acme.example/api');
    const verb = httpCallOf({ service: 'github', target: '/zen' });
    expect(await outcomeOf(createIssue)).toBe('address_not_genuine');
    expect(await outcomeOf(verb)).toBe('address_not_genuine');

    const stranger = world.user('mallory', { role: 'admin', orgId: newId() });
    await give(stranger, 'https://git.acme.example/api');
    expect(await outcomeOf(createIssue)).toBe('address_not_genuine');

    await give(ann, 'https://Git.Acme.example:443/api/');
    expect(await outcomeOf(createIssue)).not.toBe('address_not_genuine');
    await move('https://git.acme.example/other');
    expect(await outcomeOf(createIssue)).toBe('address_not_genuine');
    await move('https://api.github.example');
    expect(await outcomeOf(createIssue)).toBe('gap');
  });

  test('is given by admins alone, and asked for by the gateway alone', async () => {
    const member = world.user('bob');
    for (const being of [member, bot, world.user('eve', { role: 'auditor' })]) {
      // oxlint-disable-next-line no-await-in-loop -- one after another
      await expect(give(being, 'https://x.example')).rejects.toMatchObject({ code: 'forbidden' });
    }
    const registry = createClient(await world.bus('registry'), policy);
    const request = { principal: world.sign(ann), baseUrl: 'https://x.example' };
    await expect(registry.recordAddress(request, deadlineIn(500))).rejects.toMatchObject({
      code: 'unavailable',
    });
  });
});
