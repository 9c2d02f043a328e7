import { v7 as newId } from 'uuid';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';

import { policy } from '#contracts/bus/policy';
import type { Call, CallOptions, HttpCall } from '#contracts/call';
import type { JsonValue } from '#contracts/vocabulary';
import type { ErrorCode } from '#errors';
import { digestOf } from '#signing';
import { actionOf, paramOf } from './domain/action.testing.ts';
import {
  connectGithub,
  createIssue,
  createPolicyWorld,
  host,
  httpCallOf,
  listIssues,
  options,
  soon,
} from './world.testing.ts';
import type { TestIdentity, PolicyWorld } from './world.testing.ts';

let world: PolicyWorld;
let ann: TestIdentity;
let bot: TestIdentity;

beforeAll(async () => {
  world = await createPolicyWorld();
});
afterAll(async () => {
  await world[Symbol.asyncDispose]();
});
beforeEach(async () => {
  world.neighbours.services.length = 0;
  world.neighbours.secrets.length = 0;
  // An org of its own, so that no test meets the org-wide rules of another.
  ann = world.user('ann', { orgId: newId() });
  bot = world.below(ann, 'bot');
  connectGithub(world, ann);
  await world.settle();
});

const refused = (code: ErrorCode, details: object = {}) =>
  expect.objectContaining({ code, details: expect.objectContaining(details) });

describe('an action call', () => {
  test('an argument that is too long for a key is refused before it is encoded', async () => {
    const refusalMs = async (repo: string) => {
      const before = process.threadCpuUsage();
      const long = { ...listIssues, params: { owner: 'acme', repo } };
      await expect(world.decide(bot, long)).rejects.toEqual(refused('invalid_params'));
      const { user, system } = process.threadCpuUsage(before);
      return (user + system) / 1_000;
    };
    await refusalMs('a'.repeat(900_000));
    const plainMs = await refusalMs('a'.repeat(900_000));

    expect(await refusalMs('\u202e'.repeat(300_000))).toBeLessThan(3 * plainMs + 50);
  });

  test('a read of an agent is permitted, with everything the executor needs', async () => {
    const reply = await world.decide(bot, listIssues);
    const permit = world.permitIn(reply);

    expect(policy.endpoints.decide.response.parse(reply)).toEqual(reply);
    expect(permit).toMatchObject({
      orgId: ann.orgId,
      userId: ann.id,
      identityId: bot.id,
      callDigest: digestOf(listIssues),
      keys: ['github:issues.list:site'],
      hosts: [host],
      risk: 'read',
      nonRead: false,
      decision: { by: 'read', rule_id: null, approval_id: null },
      target: {
        kind: 'action',
        service: 'github',
        action: 'issues.list',
        baseUrl: `https://${host}`,
      },
      injections: [
        { credentialName: 'github_token', in: 'header', key: 'Authorization', prefix: 'Bearer ' },
      ],
      approvalId: null,
      executionId: null,
      requestDigest: null,
    });
    expect(permit.dispatchId).toBe(permit.jti);
    expect(permit.jti).toBe(reply.outcome === 'permit' && reply.auditId);
    expect(permit.expiresAt - Date.now()).toBeLessThanOrEqual(5_000);
    expect(permit.expiresAt).toBeGreaterThan(Date.now());
  });

  test('a write that nothing allows is a gap, with all that an approver is shown', async () => {
    const reply = await world.decide(bot, createIssue);

    expect(policy.endpoints.decide.response.parse(reply)).toEqual(reply);
    expect(reply).toMatchObject({
      outcome: 'gap',
      service: 'github',
      template: 'github',
      action: 'issues.create',
      permissionKeys: ['github:issues.create:site'],
      risk: 'write',
      nonRead: true,
      description: 'Create issue Broken in site',
    });
    expect(world.gapIn(reply)).toMatchObject({
      uncoveredKeys: ['github:issues.create:site'],
      suggestedTiers: [
        { keys: ['github:issues.create:site'] },
        { keys: ['github:issues.create:*'] },
        { keys: ['github:*:*'] },
      ],
      placement: { id: bot.id, kind: 'agent', name: 'bot' },
      ladder: [{ id: ann.id, kind: 'user', covers: true }],
      lookUpsAllowed: true,
      autoCallOnApprove: true,
      otherNames: { method: 'POST', path: '/repos/acme/site/issues' },
    });
  });

  test('a rule permits it, and is named', async () => {
    const rule = await world.rule(ann, bot, 'allow github:issues.create:*');
    const permit = world.permitIn(await world.decide(bot, createIssue));

    expect(permit.decision).toEqual({
      by: 'rule',
      rule_id: rule.id,
      approval_id: null,
      allowed_by: [{ rule_id: rule.id, pattern: 'github:issues.create:*' }],
    });
  });

  test('a deny refuses it as a result, not as an error', async () => {
    await world.rule(ann, bot, 'allow github:*:*');
    await world.rule(ann, ann, 'deny github:issues.create:*');
    const reply = await world.decide(bot, createIssue);

    expect(policy.endpoints.decide.response.parse(reply)).toEqual(reply);
    expect(reply).toMatchObject({ outcome: 'denied', reason: expect.stringContaining('user ann') });
  });

  test('a user alone is not walked, but by everything before the walk', async () => {
    await world.rule(ann, ann, 'deny *:*:*');

    expect(world.permitIn(await world.decide(ann, createIssue)).decision.by).toBe('user');
    await expect(world.decide(ann, { ...createIssue, params: {} })).rejects.toEqual(
      refused('invalid_params'),
    );
  });

  test('a service that does not let reads through makes them gaps', async () => {
    world.neighbours.services.length = 0;
    connectGithub(world, ann, { autoAllowReads: false });
    await world.settle();
    const gap = world.gapIn(await world.decide(bot, listIssues));

    expect(gap).toMatchObject({ risk: 'read', nonRead: false, lookUpsAllowed: false });
  });

  test('a subagent that does not inherit asks its agent for reads', async () => {
    const sub = world.below(bot, 'sub');
    const gap = world.gapIn(await world.decide(sub, listIssues));

    expect(gap).toMatchObject({
      placement: { id: sub.id },
      ladder: [
        { id: bot.id, covers: true },
        { id: ann.id, covers: true },
      ],
      lookUpsAllowed: false,
    });
  });

  test('inheriting is read live, not from the principal', async () => {
    const sub = world.below(bot, 'sub', { inheritPermissions: true });
    const principal = world.sign(sub);
    const ask = () => world.gateway.decide({ principal, call: listIssues, options }, soon());

    expect((await ask()).outcome).toBe('permit');
    sub.inheritPermissions = false;
    await world.settle();
    expect((await ask()).outcome).toBe('gap');
  });

  test.for<[name: string, call: Partial<typeof createIssue>, code: ErrorCode, details: object]>([
    ['an unknown service', { service: 'gitlab' }, 'unknown_service', { available: ['github'] }],
    [
      'an unknown action',
      { action: 'issue.create' },
      'unknown_action',
      { did_you_mean: 'issues.create' },
    ],
    ['an action of the prototype', { action: 'constructor' }, 'unknown_action', {}],
    ['an action of raw HTTP', { service: 'http' }, 'unknown_action', {}],
    [
      'a mistyped param',
      { params: { owner: 'acme', repo: 'site', title: 'x', lables: [] } },
      'invalid_params',
      {
        issues: [
          { path: 'lables', message: 'is not a parameter of this action', did_you_mean: 'labels' },
        ],
      },
    ],
    [
      'a dot segment in the path',
      { params: { owner: '..', repo: 'site', title: 'x' } },
      'invalid_params',
      {},
    ],
    [
      'an integer that JSON has changed',
      { params: { owner: 'acme', repo: 2 ** 60, title: 'x' } },
      'invalid_params',
      {},
    ],
    [
      'an argument too long for a key',
      { params: { owner: 'a', repo: 'x'.repeat(5000), title: 'x' } },
      'invalid_params',
      {},
    ],
  ])('%s is refused before anybody is asked', async ([, part, code, details]) => {
    await expect(world.decide(bot, { ...createIssue, ...part })).rejects.toEqual(
      refused(code, details),
    );
  });

  test('a disabled action is refused', async () => {
    const [template] = world.neighbours.templates;
    if (template === undefined) throw new Error('no template');
    const action = template.actions['users.me'];
    world.neighbours.templates.push({
      ...template,
      version: 2,
      actions: { ...template.actions, 'users.me': { ...action!, disabled: true } },
    });
    world.neighbours.services.length = 0;
    connectGithub(world, ann, {
      template: { key: 'github', tier: 'global', ownerId: null, version: 2 },
    });
    await world.settle();

    const call = { ...listIssues, action: 'users.me', params: {} };
    await expect(world.decide(bot, call)).rejects.toEqual(refused('action_disabled'));
  });

  test.for<[name: string, more: Partial<CallOptions>, call: Call, isRefused: boolean]>([
    ['a write limited to reads', { maxRisk: 'read' }, createIssue, true],
    ['a delete limited to writes', { maxRisk: 'write' }, httpCallOf({ method: 'DELETE' }), true],
    ['a write limited to writes', { maxRisk: 'write' }, createIssue, false],
    ['a read limited to reads', { maxRisk: 'read' }, listIssues, false],
  ])('max_risk: %s', async ([, more, call, isRefused]) => {
    const decided = world.decide(bot, call, more);
    if (isRefused) await expect(decided).rejects.toEqual(refused('risk_exceeded'));
    else await expect(decided).resolves.toBeDefined();
  });

  test('a missing secret is named, whoever asks', async () => {
    world.neighbours.secrets.length = 0;
    await world.settle();

    for (const being of [bot, ann]) {
      await expect(world.decide(being, createIssue)).rejects.toEqual(
        refused('credential_missing', { secret: 'github_token' }),
      );
    }
  });

  test.for([{ allowedHosts: ['other.example'] }, { allowedHosts: [] }])(
    'a secret that may go to $allowedHosts is not sent elsewhere, not for the user either',
    async ({ allowedHosts }) => {
      world.neighbours.secrets[0]!.allowedHosts = allowedHosts;
      await world.settle();

      for (const being of [bot, ann]) {
        await expect(world.decide(being, createIssue)).rejects.toEqual(refused('host_not_allowed'));
      }
    },
  );

  test('the service of the org has its own name in keys', async () => {
    connectGithub(world, ann, { tier: 'org', name: 'org/github' });
    await world.settle();
    await world.rule(ann, bot, 'allow github:issues.create:*');
    const gap = world.gapIn(await world.decide(bot, { ...createIssue, service: 'org/github' }));

    expect(gap.uncoveredKeys).toEqual(['org/github:issues.create:site']);
  });

  test('an idempotency key makes the dispatch, for what is no read', async () => {
    await world.rule(ann, bot, 'allow github:*:*');
    const ask = async (call: Call, idempotencyKey: string | null) =>
      world.permitIn(await world.decide(bot, call, { idempotencyKey })).dispatchId;

    const first = await ask(createIssue, 'key-1');
    expect(first).toMatch(/^idem-[0-9a-f]{64}$/);
    expect(await ask(createIssue, 'key-1')).toBe(first);
    expect(await ask(createIssue, 'key-2')).not.toBe(first);
    expect(await ask(listIssues, 'key-1')).not.toMatch(/^idem-/);
  });
});

describe('a rule of the org against what deletes', () => {
  const raw = (method: HttpCall['method'], path: string) =>
    httpCallOf({ method, target: `https://${host}${path}` });
  const deleteRepo: Call = {
    ...createIssue,
    action: 'repos.delete',
    params: { owner: 'acme', repo: 'site' },
  };

  beforeEach(async () => {
    const root = world.user('root', { orgId: ann.orgId, role: 'admin' });
    await world.rule(ann, bot, 'allow *:*:*');
    const body = {
      identity_id: null,
      effect: 'deny' as const,
      pattern: 'github:*:*',
      risk_at_least: 'delete' as const,
    };
    await world.gateway.createRule({ principal: world.sign(root), body }, soon());
  });

  test.for<[name: string, call: Call, expected: string]>([
    ['the action', deleteRepo, 'denied'],
    ['the action of another instance', { ...deleteRepo, service: 'hub' }, 'denied'],
    ['raw HTTP', raw('DELETE', '/repos/acme/site'), 'denied'],
    ['raw HTTP to what no template lists', raw('DELETE', '/anything'), 'denied'],
    [
      'a verb call',
      httpCallOf({ service: 'github', method: 'DELETE', target: '/repos/acme/site' }),
      'denied',
    ],
    ['raw HTTP that writes is not meant', raw('POST', '/repos/acme/site/issues'), 'permit'],
    ['an action that writes is not', createIssue, 'permit'],
    [
      'another host is not',
      httpCallOf({ method: 'DELETE', target: 'https://other.example/repos/acme/site' }),
      'permit',
    ],
  ])('%s', async ([, call, expected]) => {
    connectGithub(world, ann, { name: 'hub' });
    await world.settle();
    const child = world.below(bot, 'child', { inheritPermissions: true });

    for (const agent of [bot, child]) {
      expect((await world.decide(agent, call)).outcome).toBe(expected);
    }
    expect((await world.decide(ann, call)).outcome).toBe('permit');
  });
});

describe('no way around a deny', () => {
  const raw = httpCallOf({ method: 'POST', target: `https://${host}/repos/acme/site/issues` });

  beforeEach(async () => {
    await world.rule(ann, bot, 'allow *:*:*');
    await world.rule(ann, bot, 'deny github:issues.create:site');
  });

  const outcome = async (call: Call) => (await world.decide(bot, call)).outcome;

  test('by a second instance of the template', async () => {
    connectGithub(world, ann, { name: 'hub' });
    await world.settle();

    expect(await outcome({ ...createIssue, service: 'hub' })).toBe('denied');
    const other = { owner: 'acme', repo: 'other', title: 'x' };
    expect(await outcome({ ...createIssue, service: 'hub', params: other })).toBe('permit');
  });

  test("by the org's service", async () => {
    connectGithub(world, ann, { tier: 'org', name: 'org/github' });
    await world.settle();

    expect(await outcome({ ...createIssue, service: 'org/github' })).toBe('denied');
  });

  test.for<[name: string, call: Call, expected: string]>([
    ['by raw HTTP', raw, 'denied'],
    ['by a verb call', { ...raw, service: 'github', target: '/repos/acme/site/issues' }, 'denied'],
    [
      'by an encoded path',
      { ...raw, target: `https://${host}/repos/acme/%73ite/issues` },
      'denied',
    ],
    ['by empty segments', { ...raw, target: `https://${host}//repos/acme/site/issues/` }, 'denied'],
    [
      'by a path that the template does not list',
      { ...raw, target: `https://${host}/graphql` },
      'denied',
    ],
    [
      'another argument is another matter',
      { ...raw, target: `https://${host}/repos/acme/x/issues` },
      'permit',
    ],
    ['another method too', { ...raw, method: 'GET', target: `https://${host}/zen` }, 'permit'],
    [
      'another host too',
      { ...raw, target: 'https://other.example/repos/acme/site/issues' },
      'permit',
    ],
  ])('%s', async ([, call, expected]) => {
    expect(await outcome(call)).toBe(expected);
  });

  test('by a template of the user that shadows the host under another name', async () => {
    const [template] = world.neighbours.templates;
    world.neighbours.templates.push({
      ...template!,
      key: 'mine',
      tier: 'user',
      ownerId: ann.id,
      actions: { post: { ...template!.actions['issues.create']!, key: 'post', risk: 'read' } },
    });
    connectGithub(world, ann, {
      name: 'mine',
      template: { key: 'mine', tier: 'user', ownerId: ann.id, version: 1 },
    });
    await world.settle();

    expect(await outcome({ ...createIssue, service: 'mine', action: 'post' })).toBe('denied');
  });

  test('by the members of an object, which are parameters of the request', async () => {
    const [template] = world.neighbours.templates;
    const find = (more: Parameters<typeof actionOf>[1]) => ({
      find: actionOf('find', { path: '/find', ...more }),
    });
    const filter = paramOf('filter', 'query', { schema: { type: 'object' } });
    const topic = paramOf('topic', 'query');
    world.neighbours.templates.push(
      { ...template!, key: 'theirs', actions: find({ params: [topic], scopeParam: 'topic' }) },
      {
        ...template!,
        key: 'objects',
        tier: 'user',
        ownerId: ann.id,
        actions: find({ params: [filter] }),
      },
    );
    connectGithub(world, ann, {
      name: 'objects',
      template: { key: 'objects', tier: 'user', ownerId: ann.id, version: 1 },
    });
    await world.settle();
    await world.rule(ann, bot, 'deny theirs:find:secret');
    const call = { ...listIssues, service: 'objects', action: 'find' };

    expect(await outcome({ ...call, params: { filter: { topic: 'secret' } } })).toBe('denied');
    expect(await outcome({ ...call, params: { filter: { topic: 'public' } } })).not.toBe('denied');
  });

  test('by leaving the argument out, or by an action that another path reaches', async () => {
    await world.rule(ann, bot, 'deny github:users.me:somebody');
    await world.rule(ann, bot, 'deny github:messages.post:secret');

    expect(await outcome({ ...listIssues, action: 'users.me', params: {} })).toBe('denied');
    expect(await outcome({ ...listIssues, action: 'users.get', params: { name: 'me' } })).toBe(
      'denied',
    );
    expect(await outcome({ ...listIssues, action: 'users.get', params: { name: 'ann' } })).toBe(
      'permit',
    );
    const post = (body: JsonValue) => outcome({ ...raw, target: `https://${host}/messages`, body });
    expect(await post({ channel: 'secret' })).toBe('denied');
    expect(await post({ channel: 'public' })).toBe('permit');
    expect(await post({})).toBe('denied');
  });
});

describe('raw and verb calls', () => {
  test('raw HTTP needs its key, reads included', async () => {
    const reply = await world.decide(
      bot,
      httpCallOf({ target: 'HTTPS://API.GitHub.Example/zen?x=1' }),
    );

    expect(world.gapIn(reply)).toMatchObject({
      uncoveredKeys: [`http:GET:${host}/zen`],
      target: { kind: 'raw' },
      injections: [],
      hosts: [host],
      description: `GET ${host}/zen`,
    });
    expect(reply).toMatchObject({ service: 'http', template: null, action: 'GET', risk: 'read' });
  });

  test('a verb call injects the credential of the service, and needs a key for it', async () => {
    const call = httpCallOf({ service: 'github', method: 'POST', target: '/graphql' });
    await world.rule(ann, bot, `allow http:POST:${host}/**`);
    const gap = world.gapIn(await world.decide(bot, call));

    expect(gap.keys).toEqual([`http:POST:${host}/graphql`, `secret:github_token:${host}`]);
    expect(gap.uncoveredKeys).toEqual([`secret:github_token:${host}`]);
    expect(gap.injections).toHaveLength(1);
    await world.rule(ann, bot, `allow secret:github_token:${host}`);
    expect((await world.decide(bot, call)).outcome).toBe('permit');
  });

  test('a secret named in a raw call goes where it is put, by a key of its own', async () => {
    const secrets = [{ name: 'github_token', in: 'query' as const, key: 'key', prefix: 'x-' }];
    const gap = world.gapIn(await world.decide(bot, httpCallOf({ secrets })));

    expect(gap.keys).toEqual([`http:GET:${host}/zen`, `secret:github_token:${host}`]);
    expect(gap.injections).toEqual([
      expect.objectContaining({ in: 'query', key: 'key', prefix: 'x-', encoding: 'raw' }),
    ]);
  });

  test('a secret is not sent to a host that is not on its list', async () => {
    const call = httpCallOf({
      target: 'https://evil.example/',
      secrets: [{ name: 'github_token', in: 'header', key: 'X-Key' }],
    });

    for (const being of [bot, ann]) {
      await expect(world.decide(being, call)).rejects.toEqual(refused('host_not_allowed'));
    }
  });

  test('a secret without hosts goes by its key, in raw calls alone', async () => {
    world.neighbours.secrets[0]!.allowedHosts = [];
    await world.settle();
    const secrets = [{ name: 'github_token', in: 'header' as const, key: 'X-Key' }];

    expect((await world.decide(bot, httpCallOf({ secrets }))).outcome).toBe('gap');
    expect((await world.decide(ann, httpCallOf({ secrets }))).outcome).toBe('permit');
    await expect(world.decide(bot, createIssue)).rejects.toEqual(refused('host_not_allowed'));
  });

  test.for<[name: string, call: Call, code: ErrorCode]>([
    [
      'a secret that is not there',
      httpCallOf({ secrets: [{ name: 'nope', in: 'header', key: 'X' }] }),
      'credential_missing',
    ],
    ['a path instead of a URL', httpCallOf({ target: '/zen' }), 'invalid_params'],
    [
      'a URL on a service',
      httpCallOf({ service: 'github', target: 'https://evil.example/' }),
      'invalid_params',
    ],
    [
      'a method override',
      httpCallOf({ headers: { 'x-http-method-override': 'DELETE' } }),
      'invalid_params',
    ],
    [
      "a secret in the place of the service's own",
      httpCallOf({
        service: 'github',
        target: '/x',
        secrets: [{ name: 'github_token', in: 'header', key: 'authorization' }],
      }),
      'invalid_params',
    ],
    [
      'a body with a changed integer',
      httpCallOf({ method: 'POST', body: { id: 2 ** 60 } }),
      'invalid_params',
    ],
  ])('%s is refused', async ([, call, code]) => {
    await expect(world.decide(bot, call)).rejects.toEqual(refused(code));
  });
});

describe('who asks', () => {
  test('an auditor makes no calls', async () => {
    const auditor = world.user('eve', { role: 'auditor', orgId: ann.orgId });

    await expect(world.decide(auditor, createIssue)).rejects.toEqual(refused('forbidden'));
  });

  test('a principal that nobody signed, or that is too old, decides nothing', async () => {
    const [payload = ''] = world.sign(bot).split('.');
    const [, mac = ''] = world.sign(ann).split('.');
    const ask = (principal: string) =>
      world.gateway.decide({ principal, call: listIssues, options }, soon());

    await expect(ask(`${payload}.${mac}`)).rejects.toEqual(refused('unauthenticated'));
    const old = world.sign(bot, { expiresAt: Date.now() - 1_500 });
    await expect(ask(old)).rejects.toEqual(refused('unauthenticated'));
    await expect(ask(old)).rejects.toEqual(refused('unauthenticated'));
  });

  test('an identity below an archived one is refused, as soon as that is announced', async () => {
    const sub = world.below(bot, 'sub', { inheritPermissions: true });
    expect((await world.decide(sub, listIssues)).outcome).toBe('permit');
    bot.active = false;
    await world.settle();

    await expect(world.decide(sub, listIssues)).rejects.toEqual(refused('identity_archived'));
  });

  test("another org's identity finds neither services nor rules", async () => {
    await world.rule(
      world.user('root', { role: 'admin', orgId: ann.orgId }),
      null,
      'allow github:*:*',
    );
    const stranger = world.user('mallory', { orgId: newId() });
    connectGithub(world, stranger);
    const agent = world.below(stranger, 'bot');

    expect((await world.decide(bot, createIssue)).outcome).toBe('permit');
    expect((await world.decide(agent, createIssue)).outcome).toBe('gap');
  });
});

describe('the hot path', () => {
  test('asks nobody twice within a second, and the next rule counts at once', async () => {
    world.asked.clear();
    const all = await Promise.all(Array.from({ length: 50 }, () => world.decide(bot, createIssue)));

    expect(new Set(all.map(({ outcome }) => outcome))).toEqual(new Set(['gap']));
    // A second may end in between; without single flight it would be fifty of each.
    for (const [endpoint, times] of world.asked)
      expect([endpoint, times <= 3]).toEqual([endpoint, true]);
    await world.rule(ann, bot, 'allow github:issues.create:*');
    expect((await world.decide(bot, createIssue)).outcome).toBe('permit');
  });
});
