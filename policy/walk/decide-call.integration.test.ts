import { v7 as newId } from 'uuid';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';

import { policy } from '#contracts/bus/policy';
import type { Call, CallOptions, HttpCall } from '#contracts/call';
import type { ErrorCode } from '#errors';
import { digestOf } from '#signing';
import { actionOf, paramOf } from '../action.testing.ts';
import {
  connectGithub,
  createIssue,
  createPolicyWorld,
  host,
  httpCallOf,
  listIssues,
  callOptions,
  testDeadline,
} from '../world.testing.ts';
import type { TestIdentity, PolicyWorld } from '../world.testing.ts';

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
  // Each test uses another org, so that the org-wide rules of other tests do not apply.
  ann = world.user('ann', { orgId: newId() });
  bot = world.below(ann, 'bot');
  connectGithub(world, ann);
  await world.settle();
});

const expectedRefusal = (code: ErrorCode, details: object = {}) =>
  expect.objectContaining({ code, details: expect.objectContaining(details) });

describe('policy, when it decides an action call,', () => {
  test('refuses an argument that is too long for a permission key before encoding the argument', async () => {
    const measureRefusalMs = async (repo: string) => {
      const before = process.threadCpuUsage();
      const callWithLongRepo = { ...listIssues, params: { owner: 'acme', repo } };
      await expect(world.decide(bot, callWithLongRepo)).rejects.toEqual(
        expectedRefusal('invalid_params'),
      );
      const { user, system } = process.threadCpuUsage(before);
      return (user + system) / 1_000;
    };
    /** The shortest of several measurements, because the thread may collect garbage in between. */
    const measureLeastMs = async (repo: string) => {
      let leastMs = Infinity;
      for (let n = 0; n < 5; n += 1) leastMs = Math.min(leastMs, await measureRefusalMs(repo));
      return leastMs;
    };
    const plainTextMs = await measureLeastMs('a'.repeat(900_000));

    expect(await measureLeastMs('\u202e'.repeat(300_000))).toBeLessThan(3 * plainTextMs + 50);
  });

  test('signs permission keys of many long values, and refuses them when they are too long together', async () => {
    const [template] = world.neighbours.templates;
    const labels = { type: 'array', items: { type: 'string' } };
    const listAction = actionOf('find', {
      path: '/find',
      params: [paramOf('labels', 'query', { schema: labels })],
      scopeParam: [{ params: ['labels[]'], label: 'label' }],
      risk: 'write',
    });
    world.neighbours.templates.push({ ...template!, key: 'lists', actions: { find: listAction } });
    connectGithub(world, ann, {
      name: 'lists',
      template: { key: 'lists', tier: 'global', ownerId: null, version: 1 },
    });
    await world.settle();
    const decideFor = (text: string) => {
      const values = Array.from({ length: 20 }, (_, index) => `${index}${text}`);
      const call = { ...listIssues, service: 'lists', action: 'find', params: { labels: values } };
      return world.decide(bot, call);
    };
    const isTooLong = expect.objectContaining({
      code: 'invalid_params',
      message: expect.stringContaining('too long together'),
    });

    expect(world.gapIn(await decideFor('漢'.repeat(60))).keys).toHaveLength(20);
    await expect(decideFor('漢'.repeat(200))).rejects.toEqual(isTooLong);
    await world.rule(ann, bot, 'allow lists:*:*');
    expect(world.permitIn(await decideFor('漢'.repeat(200))).keys).toHaveLength(20);
    await expect(decideFor('漢'.repeat(1_000))).rejects.toEqual(isTooLong);
  });

  test('permits a read by an agent, with everything that the executor needs', async () => {
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

  test('answers with a permission gap for a write that no rule allows, with everything that a decider must see', async () => {
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

  test('permits a call by a rule, and names that rule', async () => {
    const rule = await world.rule(ann, bot, 'allow github:issues.create:*');
    const permit = world.permitIn(await world.decide(bot, createIssue));

    expect(permit.decision).toEqual({
      by: 'rule',
      rule_id: rule.id,
      approval_id: null,
      allowed_by: [{ rule_id: rule.id, pattern: 'github:issues.create:*' }],
    });
  });

  test('returns a denial as a normal result, not as an error', async () => {
    await world.rule(ann, bot, 'allow github:*:*');
    await world.rule(ann, ann, 'deny github:issues.create:*');
    const reply = await world.decide(bot, createIssue);

    expect(policy.endpoints.decide.response.parse(reply)).toEqual(reply);
    expect(reply).toMatchObject({ outcome: 'denied', reason: expect.stringContaining('user ann') });
  });

  test("permits a user's call without a rule, but checks the parameters", async () => {
    await world.rule(ann, ann, 'deny *:*:*');

    expect(world.permitIn(await world.decide(ann, createIssue)).decision.by).toBe('user');
    await expect(world.decide(ann, { ...createIssue, params: {} })).rejects.toEqual(
      expectedRefusal('invalid_params'),
    );
  });

  test('answers with a permission gap for a read of a service that does not allow reads without a rule', async () => {
    world.neighbours.services.length = 0;
    connectGithub(world, ann, { autoAllowReads: false });
    await world.settle();
    const gap = world.gapIn(await world.decide(bot, listIssues));

    expect(gap).toMatchObject({ risk: 'read', nonRead: false, lookUpsAllowed: false });
  });

  test('answers with a permission gap for a read by a subagent that does not inherit', async () => {
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

  test('reads the inherit flag from auth, not from the principal', async () => {
    const sub = world.below(bot, 'sub', { inheritPermissions: true });
    const principal = world.sign(sub);
    const decide = () =>
      world.gateway.decide({ principal, call: listIssues, options: callOptions }, testDeadline());

    expect((await decide()).outcome).toBe('permit');
    sub.inheritPermissions = false;
    await world.settle();
    expect((await decide()).outcome).toBe('gap');
  });

  test.for<[name: string, call: Partial<typeof createIssue>, code: ErrorCode, details: object]>([
    ['an unknown service', { service: 'gitlab' }, 'unknown_service', { available: ['github'] }],
    [
      'an unknown action',
      { action: 'issue.create' },
      'unknown_action',
      { did_you_mean: 'issues.create' },
    ],
    [
      'a member of the object prototype as an action',
      { action: 'constructor' },
      'unknown_action',
      {},
    ],
    ['an action on the reserved service for raw HTTP', { service: 'http' }, 'unknown_action', {}],
    [
      'a misspelt parameter',
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
      'an argument too long for a permission key',
      { params: { owner: 'a', repo: 'x'.repeat(5000), title: 'x' } },
      'invalid_params',
      {},
    ],
  ])('refuses %s before a person is asked', async ([, part, code, details]) => {
    await expect(world.decide(bot, { ...createIssue, ...part })).rejects.toEqual(
      expectedRefusal(code, details),
    );
  });

  test('refuses a disabled action', async () => {
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
    await expect(world.decide(bot, call)).rejects.toEqual(expectedRefusal('action_disabled'));
  });

  test.for<[name: string, more: Partial<CallOptions>, call: Call, isRefused: boolean]>([
    ['read refuses a write', { maxRisk: 'read' }, createIssue, true],
    ['write refuses a delete', { maxRisk: 'write' }, httpCallOf({ method: 'DELETE' }), true],
    ['write accepts a write', { maxRisk: 'write' }, createIssue, false],
    ['read accepts a read', { maxRisk: 'read' }, listIssues, false],
  ])('checks the call against its max_risk: %s', async ([, more, call, isRefused]) => {
    const pendingDecision = world.decide(bot, call, more);
    if (isRefused) await expect(pendingDecision).rejects.toEqual(expectedRefusal('risk_exceeded'));
    else await expect(pendingDecision).resolves.toBeDefined();
  });

  test('fails with the name of the missing secret, for every caller', async () => {
    world.neighbours.secrets.length = 0;
    await world.settle();

    for (const identity of [bot, ann]) {
      await expect(world.decide(identity, createIssue)).rejects.toEqual(
        expectedRefusal('credential_missing', { secret: 'github_token' }),
      );
    }
  });

  test.for([{ allowedHosts: ['other.example'] }, { allowedHosts: [] }])(
    'refuses a call, also by a user, when its secret may go only to the hosts $allowedHosts',
    async ({ allowedHosts }) => {
      world.neighbours.secrets[0]!.allowedHosts = allowedHosts;
      await world.settle();

      for (const identity of [bot, ann]) {
        await expect(world.decide(identity, createIssue)).rejects.toEqual(
          expectedRefusal('host_not_allowed'),
        );
      }
    },
  );

  test('puts org/ before the service name in the permission key when the org owns the service', async () => {
    connectGithub(world, ann, { tier: 'org', name: 'org/github' });
    await world.settle();
    await world.rule(ann, bot, 'allow github:issues.create:*');
    const gap = world.gapIn(await world.decide(bot, { ...createIssue, service: 'org/github' }));

    expect(gap.uncoveredKeys).toEqual(['org/github:issues.create:site']);
  });

  test('derives the dispatch id of a write from its idempotency key', async () => {
    await world.rule(ann, bot, 'allow github:*:*');
    const decide = async (call: Call, idempotencyKey: string | null) =>
      world.permitIn(await world.decide(bot, call, { idempotencyKey })).dispatchId;

    const firstDispatchId = await decide(createIssue, 'key-1');
    expect(firstDispatchId).toMatch(/^idem-[0-9a-f]{64}$/);
    expect(await decide(createIssue, 'key-1')).toBe(firstDispatchId);
    expect(await decide(createIssue, 'key-2')).not.toBe(firstDispatchId);
    expect(await decide(listIssues, 'key-1')).not.toMatch(/^idem-/);
  });
});

describe('an org-wide deny rule on deletes', () => {
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
    await world.gateway.createRule({ principal: world.sign(root), body }, testDeadline());
  });

  test.for<[name: string, call: Call, expected: string]>([
    ['refuses the action', deleteRepo, 'denied'],
    [
      'refuses the action on another service of the same template',
      { ...deleteRepo, service: 'hub' },
      'denied',
    ],
    ['refuses a call to a full URL', raw('DELETE', '/repos/acme/site'), 'denied'],
    [
      'refuses a call to a full URL to a path that no template lists',
      raw('DELETE', '/anything'),
      'denied',
    ],
    [
      'refuses a call by method and path',
      httpCallOf({ service: 'github', method: 'DELETE', target: '/repos/acme/site' }),
      'denied',
    ],
    [
      'does not refuse a call to a full URL that writes',
      raw('POST', '/repos/acme/site/issues'),
      'permit',
    ],
    ['does not refuse an action that writes', createIssue, 'permit'],
    [
      'does not refuse a call to a full URL to another host',
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

describe('a deny rule on one action and argument', () => {
  const raw = httpCallOf({ method: 'POST', target: `https://${host}/repos/acme/site/issues` });

  beforeEach(async () => {
    await world.rule(ann, bot, 'allow *:*:*');
    await world.rule(ann, bot, 'deny github:issues.create:site');
  });

  const outcome = async (call: Call) => (await world.decide(bot, call)).outcome;

  test('also refuses the action on a second service of the same template', async () => {
    connectGithub(world, ann, { name: 'hub' });
    await world.settle();

    expect(await outcome({ ...createIssue, service: 'hub' })).toBe('denied');
    const paramsOfOtherRepo = { owner: 'acme', repo: 'other', title: 'x' };
    expect(await outcome({ ...createIssue, service: 'hub', params: paramsOfOtherRepo })).toBe(
      'permit',
    );
  });

  test("also refuses the action on the org's service of the same template", async () => {
    connectGithub(world, ann, { tier: 'org', name: 'org/github' });
    await world.settle();

    expect(await outcome({ ...createIssue, service: 'org/github' })).toBe('denied');
  });

  test.for<[name: string, call: Call, expected: string]>([
    ['refuses a call to a full URL that is the operation', raw, 'denied'],
    [
      'refuses a call by method and path that is the operation',
      { ...raw, service: 'github', target: '/repos/acme/site/issues' },
      'denied',
    ],
    [
      'refuses a call to a full URL with an encoded path',
      { ...raw, target: `https://${host}/repos/acme/%73ite/issues` },
      'denied',
    ],
    [
      'refuses a call to a full URL with empty path segments',
      { ...raw, target: `https://${host}//repos/acme/site/issues/` },
      'denied',
    ],
    [
      'refuses a call to a full URL to a path that the template does not list',
      { ...raw, target: `https://${host}/graphql` },
      'denied',
    ],
    [
      'refuses a call to a full URL that is the operation with any argument',
      { ...raw, target: `https://${host}/repos/acme/x/issues` },
      'denied',
    ],
    [
      'does not refuse another method',
      { ...raw, method: 'GET', target: `https://${host}/repos/acme/site/issues` },
      'permit',
    ],
    [
      'does not refuse another host',
      { ...raw, target: 'https://other.example/repos/acme/site/issues' },
      'permit',
    ],
  ])('%s (outcome: $2)', async ([, call, expected]) => {
    expect(await outcome(call)).toBe(expected);
  });

  test("also refuses the operation when a user's own template gives it another name", async () => {
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

  test('also refuses the call without the argument, and another action with the same path', async () => {
    await world.rule(ann, bot, 'deny github:users.me:somebody');

    expect(await outcome({ ...listIssues, action: 'users.me', params: {} })).toBe('denied');
    expect(await outcome({ ...listIssues, action: 'users.get', params: { name: 'me' } })).toBe(
      'denied',
    );
    expect(await outcome({ ...listIssues, action: 'users.get', params: { name: 'ann' } })).toBe(
      'permit',
    );
  });
});

describe('policy, when it decides a call by HTTP method,', () => {
  test('requires a rule for a call to a full URL, even for a read', async () => {
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

  test("adds the service's credential to a call on a service, which then needs a permission key for the credential", async () => {
    const call = httpCallOf({ service: 'github', method: 'POST', target: '/graphql' });
    await world.rule(ann, bot, `allow http:POST:${host}/**`);
    const gap = world.gapIn(await world.decide(bot, call));

    expect(gap.keys).toEqual([`http:POST:${host}/graphql`, `secret:github_token:${host}`]);
    expect(gap.uncoveredKeys).toEqual([`secret:github_token:${host}`]);
    expect(gap.injections).toHaveLength(1);
    await world.rule(ann, bot, `allow secret:github_token:${host}`);
    expect((await world.decide(bot, call)).outcome).toBe('permit');
  });

  test('adds a secret that a call to a full URL names, which then needs a permission key for the secret', async () => {
    const secrets = [{ name: 'github_token', in: 'query' as const, key: 'key', prefix: 'x-' }];
    const gap = world.gapIn(await world.decide(bot, httpCallOf({ secrets })));

    expect(gap.keys).toEqual([`http:GET:${host}/zen`, `secret:github_token:${host}`]);
    expect(gap.injections).toEqual([
      expect.objectContaining({ in: 'query', key: 'key', prefix: 'x-', encoding: 'raw' }),
    ]);
  });

  test('describes how a secret signs the request, which needs the permission key of the secret', async () => {
    const signing = { type: 'aws_sigv4' as const, service: 's3', region: 'eu-west-1' };
    const signingSecret = {
      name: 'github_token',
      in: 'header' as const,
      key: 'Authorization',
      sign: signing,
    };
    const gap = world.gapIn(await world.decide(bot, httpCallOf({ secrets: [signingSecret] })));
    expect(gap.keys).toContain(`secret:github_token:${host}`);
    expect(gap.injections).toEqual([
      expect.objectContaining({
        prefix: 'AWS4-HMAC-SHA256 s3/eu-west-1 ',
        derivation: {
          kind: 'aws_sigv4',
          required: ['access_key_id', 'secret_access_key'],
          secret: ['secret_access_key', 'session_token'],
          service: 's3',
          region: 'eu-west-1',
        },
      }),
    ]);
  });

  test.for<[target: string, query: object, risk: string]>([
    ['/?Action=DeleteUser&UserName=a', {}, 'write'],
    ['/', { action: 'DeleteUser' }, 'write'],
    ['/?a;%41ction=DeleteUser', {}, 'write'],
    ['/?List=Action', {}, 'read'],
  ])('decides that a signed GET of %s with %j is a %s', async ([target, query, risk]) => {
    const signing = { type: 'aws_sigv4' as const, service: 'iam', region: 'us-east-1' };
    const secret = { name: 'github_token', in: 'header' as const, key: 'Authorization' };
    const call = { target: `https://${host}${target}`, query: query as Record<string, string> };
    const signedCall = httpCallOf({ ...call, secrets: [{ ...secret, sign: signing }] });
    const reply = await world.decide(bot, signedCall);
    expect(reply).toMatchObject({ risk, nonRead: risk === 'write' });
    expect(world.gapIn(reply).nonRead).toBe(risk === 'write');
    const unsignedReply = await world.decide(bot, httpCallOf({ ...call, secrets: [secret] }));
    expect(unsignedReply).toMatchObject({ risk: 'read' });
  });

  test('does not send a secret to a host outside the list of the secret', async () => {
    const call = httpCallOf({
      target: 'https://evil.example/',
      secrets: [{ name: 'github_token', in: 'header', key: 'X-Key' }],
    });

    for (const identity of [bot, ann]) {
      await expect(world.decide(identity, call)).rejects.toEqual(
        expectedRefusal('host_not_allowed'),
      );
    }
  });

  test("sends a secret without a list of hosts only in calls to a full URL, when a rule allows the secret's permission key", async () => {
    world.neighbours.secrets[0]!.allowedHosts = [];
    await world.settle();
    const secrets = [{ name: 'github_token', in: 'header' as const, key: 'X-Key' }];

    expect((await world.decide(bot, httpCallOf({ secrets }))).outcome).toBe('gap');
    expect((await world.decide(ann, httpCallOf({ secrets }))).outcome).toBe('permit');
    await expect(world.decide(bot, createIssue)).rejects.toEqual(
      expectedRefusal('host_not_allowed'),
    );
  });

  test.for<[name: string, call: Call, code: ErrorCode]>([
    [
      'a missing secret',
      httpCallOf({ secrets: [{ name: 'nope', in: 'header', key: 'X' }] }),
      'credential_missing',
    ],
    ['a path instead of a URL', httpCallOf({ target: '/zen' }), 'invalid_params'],
    [
      'a full URL together with a service',
      httpCallOf({ service: 'github', target: 'https://evil.example/' }),
      'invalid_params',
    ],
    [
      'a method override',
      httpCallOf({ headers: { 'x-http-method-override': 'DELETE' } }),
      'invalid_params',
    ],
    [
      "a secret in the same place as the service's own",
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
  ])('refuses %s', async ([, call, code]) => {
    await expect(world.decide(bot, call)).rejects.toEqual(expectedRefusal(code));
  });
});

describe('the caller of an action', () => {
  test('may not be an auditor', async () => {
    const auditor = world.user('eve', { role: 'auditor', orgId: ann.orgId });

    await expect(world.decide(auditor, createIssue)).rejects.toEqual(expectedRefusal('forbidden'));
  });

  test('needs a signed principal that is recent', async () => {
    const [payload = ''] = world.sign(bot).split('.');
    const [, mac = ''] = world.sign(ann).split('.');
    const decide = (principal: string) =>
      world.gateway.decide({ principal, call: listIssues, options: callOptions }, testDeadline());

    await expect(decide(`${payload}.${mac}`)).rejects.toEqual(expectedRefusal('unauthenticated'));
    const oldPrincipal = world.sign(bot, { expiresAt: Date.now() - 1_500 });
    await expect(decide(oldPrincipal)).rejects.toEqual(expectedRefusal('unauthenticated'));
    await expect(decide(oldPrincipal)).rejects.toEqual(expectedRefusal('unauthenticated'));
  });

  test('is refused as soon as an event says that an ancestor was archived', async () => {
    const sub = world.below(bot, 'sub', { inheritPermissions: true });
    expect((await world.decide(sub, listIssues)).outcome).toBe('permit');
    bot.active = false;
    await world.settle();

    await expect(world.decide(sub, listIssues)).rejects.toEqual(
      expectedRefusal('identity_archived'),
    );
  });

  test('cannot use the services and rules of another org', async () => {
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

describe('policy, when it decides many calls,', () => {
  test('asks each other component once per second, and applies a new rule at once', async () => {
    world.requestCounts.clear();
    const replies = await Promise.all(
      Array.from({ length: 50 }, () => world.decide(bot, createIssue)),
    );

    expect(new Set(replies.map(({ outcome }) => outcome))).toEqual(new Set(['gap']));
    // A cached answer may expire once during the test. If look-ups were not shared, each endpoint
    // would get fifty requests.
    for (const [endpoint, times] of world.requestCounts)
      expect([endpoint, times <= 3]).toEqual([endpoint, true]);
    await world.rule(ann, bot, 'allow github:issues.create:*');
    expect((await world.decide(bot, createIssue)).outcome).toBe('permit');
  });
});
