import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';

import type { Call, HttpCall } from '#contracts/call';
import type { HttpMethod } from '#contracts/vocabulary';
import { actionOf, github, paramOf, templateOf } from '../action.testing.ts';
import {
  connectGithub,
  createIssue,
  createPolicyWorld,
  host,
  httpCallOf,
  listIssues,
  testDeadline,
} from '../world.testing.ts';
import type { TestIdentity, PolicyWorld } from '../world.testing.ts';

let world: PolicyWorld;
beforeAll(async () => {
  world = await createPolicyWorld();
});
afterAll(() => world[Symbol.asyncDispose]());

let ann: TestIdentity;
let bot: TestIdentity;
beforeEach(async () => {
  const { services, templates, secrets, connections } = world.neighbours;
  for (const list of [services, templates, secrets, connections]) list.length = 0;
  ann = world.user();
  bot = world.below(ann, 'bot');
  connectGithub(world, ann);
  await world.settle();
  await world.rule(ann, bot, 'allow *:*:*');
});

const createDenyRule = (pattern: string) => world.rule(ann, bot, `deny ${pattern}`);
const decideOutcome = async (call: Call) => (await world.decide(bot, call)).outcome;
const decideRawCall = (method: HttpMethod, path: string, furtherFields: Partial<HttpCall> = {}) =>
  decideOutcome(httpCallOf({ method, target: `https://${host}${path}`, ...furtherFields }));

/** Connects another API on the host of the tests' small GitHub template. */
function connectApi(
  key: string,
  tier: 'global' | 'org' | 'user',
  actions: Parameters<typeof templateOf>[0],
) {
  const ownerId = { user: ann.id, org: ann.orgId, global: null }[tier];
  world.neighbours.templates.push(templateOf(actions, { key, tier, ownerId }));
  connectGithub(world, ann, {
    name: key,
    template: { key, tier, ownerId, version: 1 },
    secrets: {},
  });
}

describe('a deny rule on one argument of an action', () => {
  const repo = paramOf('repo', 'path', { schema: { type: 'string', pattern: '^[A-Za-z-]+$' } });

  beforeEach(async () => {
    connectApi('hub', 'global', [
      actionOf('issues.open', {
        method: 'POST',
        path: '/hub/{owner}/{repo}/issues',
        risk: 'write',
        params: [paramOf('owner', 'path'), repo],
        scopeParam: 'repo',
      }),
      actionOf('tags.list', { path: '/hub/tags' }),
    ]);
    await world.settle();
    await createDenyRule('hub:issues.open:site');
    await createDenyRule('github:messages.post:General');
  });

  test.for<[repo: string, expected: string]>([
    ['site', 'denied'],
    ['SITE', 'denied'],
    ['site-b', 'permit'],
  ])(
    'refuses calls with that argument in any letter case: %s (outcome: %s)',
    async ([repo, expected]) => {
      const params = { owner: 'acme', repo };
      const call = { ...createIssue, service: 'hub', action: 'issues.open', params };
      expect(await decideOutcome(call)).toBe(expected);
    },
  );

  test.for<[channel: string, expected: string]>([
    ['GENERAL', 'denied'],
    [' general ', 'denied'],
    ['random; general', 'permit'],
    ['random', 'permit'],
  ])(
    'refuses calls with that argument between blanks: %j (outcome: %s)',
    async ([channel, expected]) => {
      const call = { ...createIssue, action: 'messages.post', params: { channel } };
      expect(await decideOutcome(call)).toBe(expected);
    },
  );

  test("refuses every call by method and path that is the action's operation, and says which action to call instead", async () => {
    for (const path of ['/hub/acme/site/issues', '/hub/acme/other/issues', '/HUB/a/b/issues/']) {
      const decision = await world.decide(
        bot,
        httpCallOf({ method: 'POST', target: `https://${host}${path}` }),
      );
      expect(decision).toMatchObject({
        outcome: 'denied',
        reason: expect.stringContaining('Call the action issues.open of hub instead.'),
      });
      const verb = httpCallOf({ method: 'POST', service: 'hub', target: path });
      expect(await decideOutcome(verb)).toBe('denied');
    }
    expect(await decideRawCall('GET', '/hub/tags')).toBe('permit');
    expect(await decideRawCall('POST', '/messages', { body: { channel: 'random' } })).toBe(
      'denied',
    );
  });

  test('refuses a call by method and path that no template lists, or that servers read in several ways', async () => {
    for (const path of ['/hub/tags;v=1', '/hub//tags', '/hub/tags.', '/nowhere', '/hub/%2574ags']) {
      const decision = await world.decide(
        bot,
        httpCallOf({ method: 'GET', target: `https://${host}${path}` }),
      );
      expect(decision, path).toMatchObject({
        outcome: 'denied',
        reason: expect.stringContaining('may be any operation'),
      });
    }
  });
});

test('a deny rule for an action with a fixed path stops calls whose path some servers may read as that path', async () => {
  await createDenyRule('github:users.me:*');
  for (const path of ['/users/me', '/users/me.json', '/users/me%20', '/users/me:', '/users/ME,x']) {
    expect([path, await decideRawCall('GET', path)]).toEqual([path, 'denied']);
    const verb = httpCallOf({ method: 'GET', service: 'github', target: path });
    expect([path, await decideOutcome(verb)]).toEqual([path, 'denied']);
  }
  for (const path of ['/users/ann', '/users/me-too', '/users/ann@home.example'])
    expect([path, await decideRawCall('GET', path)]).toEqual([path, 'permit']);
});

describe('a template whose server has a variable in the path', () => {
  const server = {
    url: `https://${host}/ex/{tenant}`,
    variables: [{ name: 'tenant', description: '', default: null, enum: null }],
    baseUrlAllowed: false,
  };

  beforeEach(async () => {
    const ledger = templateOf([actionOf('bills.list', { path: '/bills' })], {
      key: 'ledger',
      server,
    });
    world.neighbours.templates.push(ledger);
    const paths = ['/ex/acme/bills', '/ex/Other-1/bills', '/ex/bills', '/elsewhere/acme/bills'];
    connectApi(
      'annex',
      'global',
      paths.map((path, at) => actionOf(`list.${at}`, { path })),
    );
    await world.settle();
  });
  afterEach(() => {
    world.neighbours.areAddressesGiven = true;
  });

  test.for<[path: string, expected: string]>([
    ['/ex/acme/bills', 'denied'],
    ['/ex/Other-1/bills', 'denied'],
    ['/ex/bills', 'permit'],
    ['/elsewhere/acme/bills', 'permit'],
  ])(
    'can be denied for any value of the variable, even if another template lists %s (outcome: %s)',
    async ([path, expected]) => {
      await createDenyRule('ledger:bills.list:*');
      expect(await decideRawCall('GET', path)).toBe(expected);
    },
  );

  test.for<[baseUrl: string, expected: string]>([
    [`https://${host}/ex/Acme_1`, 'permit'],
    [`https://${host}/ex/acme/more`, 'unavailable'],
    [`https://${host}/ex/..`, 'unavailable'],
    ['https://evil.example/ex/acme', 'unavailable'],
  ])('can be called only at its server, here at %s (outcome: %s)', async ([baseUrl, expected]) => {
    world.neighbours.areAddressesGiven = false;
    connectGithub(world, ann, {
      name: 'ledger',
      template: { key: 'ledger', tier: 'global', ownerId: null, version: 1 },
      secrets: {},
      baseUrl,
    });
    await world.settle();
    const call = { ...listIssues, service: 'ledger', action: 'bills.list', params: {} };
    const outcomeOrCode = await decideOutcome(call).catch((error: { code?: string }) => error.code);
    expect(outcomeOrCode).toBe(expected);
  });
});

test('a deny rule for a recipient matches any recipient in a list, also at the replay', async () => {
  const to = paramOf('to', 'body', {
    schema: { type: 'array', items: { type: 'object', properties: { email: { type: 'string' } } } },
  });
  connectApi('mail', 'global', [
    actionOf('send', {
      method: 'POST',
      path: '/mail',
      risk: 'write',
      params: [to],
      scopeParam: [{ params: ['to[].email'], label: 'recipient' }],
      body: { mediaType: 'application/json', wholeBody: false, required: true, parts: {} },
    }),
  ]);
  await world.settle();
  const call = (...to: string[]) => ({
    ...createIssue,
    service: 'mail',
    action: 'send',
    params: { to: to.map((email) => ({ email })) },
  });
  await createDenyRule('mail:send:boss@acme.example');

  expect(await decideOutcome(call('ann@acme.example', 'Boss@ACME.example'))).toBe('denied');
  expect(await decideOutcome(call('ann@acme.example', 'bob@acme.example'))).toBe('permit');

  const askingAgent = world.below(ann, 'asking');
  const gap = world.gapIn(
    await world.decide(askingAgent, call('ann@acme.example', 'cy@acme.example')),
  );
  const replayCall = () =>
    world.approvals.permitReplay(
      {
        gap: world.signGap(gap),
        decision: world.decision(gap, ann),
        executionId: gap.jti,
        cascade: null,
      },
      testDeadline(),
    );
  await world.rule(ann, askingAgent, 'deny mail:send:dan@acme.example');
  expect((await replayCall()).outcome).toBe('permit');
  await world.rule(ann, askingAgent, 'deny mail:send:cy@acme.example');
  expect((await replayCall()).outcome).toBe('denied');
});

describe('a deny rule for one action of a service that shares its host with other services', () => {
  const events = [
    actionOf('get_event', { path: '/me/events/{id}', params: [paramOf('id', 'path')] }),
  ];
  const getEvent: Call = {
    ...listIssues,
    service: 'calendar',
    action: 'get_event',
    params: { id: '1' },
  };
  beforeEach(() => createDenyRule('github:users.get:ann'));

  test("does not refuse requests that a built-in template or an admin's template lists", async () => {
    connectApi('calendar', 'global', events);
    await world.settle();
    expect(await decideOutcome(getEvent)).toBe('permit');
    expect(await decideRawCall('GET', '/me/events/1')).toBe('permit');
    expect(await decideRawCall('HEAD', '/me/events/1')).toBe('permit');
    expect(await decideRawCall('GET', '/me/unlisted/1')).toBe('denied');
  });

  test("refuses requests that only a member's template lists", async () => {
    connectApi('calendar', 'user', events);
    await world.settle();
    expect(await decideOutcome(getEvent)).toBe('denied');
    expect(await decideRawCall('GET', '/me/events/1')).toBe('denied');
  });

  test('refuses an action whose requests may contain other operations', async () => {
    connectApi('graph', 'org', [
      actionOf('query', { method: 'POST', path: '/graphql', risk: 'write', multiplex: true }),
      actionOf('plain', { method: 'POST', path: '/plain', risk: 'write' }),
    ]);
    await world.settle();
    const call = { ...createIssue, service: 'graph', params: {} };
    expect(await decideOutcome({ ...call, action: 'query' })).toBe('denied');
    expect(await decideOutcome({ ...call, action: 'plain' })).toBe('permit');
    expect(await decideRawCall('POST', '/graphql')).toBe('denied');
  });
});

describe('deny rules for addresses and credentials', () => {
  const connectOrgGithub = () => connectGithub(world, ann, { tier: 'org', name: 'org/github' });
  const issueByOrgService = { ...createIssue, service: 'org/github' };

  test.for<[pattern: string, ownOutcome: string, orgOutcome: string]>([
    [`http:ANY:${host}/**`, 'denied', 'denied'],
    [`http:POST:${host}/repos/**`, 'denied', 'denied'],
    [`http:POST:${host}/Repos/ACME/site/issues`, 'denied', 'denied'],
    [`http:GET:${host}/**`, 'permit', 'permit'],
    ['http:ANY:other.example/**', 'permit', 'permit'],
    ['http:*:*', 'permit', 'permit'],
    ['http:ANY:**', 'permit', 'permit'],
    ['secret:github_token:*', 'denied', 'denied'],
    ['secret:org/github_token:*', 'permit', 'denied'],
    [`secret:*:${host}`, 'denied', 'denied'],
    ['secret:*:*', 'permit', 'permit'],
    ['secret:other:*', 'permit', 'permit'],
    ['connection:github_token:*', 'permit', 'permit'],
  ])(
    "with the pattern %s give the outcome %s for the user's service, and %s for the org's service",
    async ([pattern, ownOutcome, orgOutcome]) => {
      connectOrgGithub();
      await world.settle();
      await createDenyRule(pattern);
      expect([await decideOutcome(createIssue), await decideOutcome(issueByOrgService)]).toEqual([
        ownOutcome,
        orgOutcome,
      ]);
    },
  );

  test('match a read by its method, and HEAD requests like GET requests', async () => {
    await createDenyRule(`http:GET:${host}/repos/acme/**`);
    expect(await decideOutcome(listIssues)).toBe('denied');
    expect(await decideRawCall('GET', '/repos/acme/site/issues')).toBe('denied');
    expect(await decideRawCall('HEAD', '/repos/ACME/site/issues')).toBe('denied');
    expect(await decideRawCall('POST', '/repos/acme/site/issues')).toBe('permit');
  });

  test('do not refuse a call to another path because of a value that servers may read differently', async () => {
    const getUser = (name: string): Call => ({
      ...listIssues,
      action: 'users.get',
      params: { name },
    });
    await createDenyRule(`http:GET:${host}/repos/**`);
    expect(await decideOutcome(getUser('a;b'))).toBe('permit');
    expect(await decideOutcome(getUser('100%25'))).toBe('permit');
    expect(await decideOutcome(getUser('x%2F..%2F..%2Frepos'))).toBe('denied');
    await createDenyRule(`http:GET:${host}/users/b`);
    expect(await decideOutcome(getUser('a;b'))).toBe('denied');
    expect(await decideOutcome(getUser('a'))).toBe('permit');
  });

  test('refuse calls by method and path and to full URLs, also when the org owns the credential and the rule omits org/', async () => {
    connectOrgGithub();
    await world.settle();
    await createDenyRule('secret:github_token:*');
    const verb = (service: string) =>
      decideOutcome(httpCallOf({ method: 'POST', service, target: '/repos/acme/site/issues' }));
    expect([await verb('github'), await verb('org/github')]).toEqual(['denied', 'denied']);
    expect(await decideRawCall('POST', '/repos/acme/site/issues')).toBe('permit');
  });

  test('refuse the replay when the rules were made after the approval', async () => {
    const askingAgent = world.below(ann, 'asking');
    const gap = world.gapIn(await world.decide(askingAgent, createIssue));
    await world.rule(ann, askingAgent, `deny http:POST:${host}/**`);
    const reply = await world.approvals.permitReplay(
      {
        gap: world.signGap(gap),
        decision: world.decision(gap, ann),
        executionId: gap.jti,
        cascade: null,
      },
      testDeadline(),
    );
    expect(reply.outcome).toBe('denied');
  });
});

test('deny rules match any service of a host that has more services than policy examines', async () => {
  await createDenyRule('elsewhere:anything:x');
  const decideListedCall = () => decideRawCall('GET', '/users/me');
  expect(await decideListedCall()).toBe('permit');
  world.neighbours.isCut = true;
  await world.settle();
  expect(await decideListedCall()).toBe('denied');
  expect(await decideOutcome(createIssue)).toBe('permit');
  world.neighbours.isCut = false;
});

describe('the answer to creating a deny rule', () => {
  const stoppedActionsOf = async (pattern: string) =>
    (await createDenyRule(pattern)).stops?.map(({ service, action }) => `${service}:${action}`);

  test.for<[pattern: string, expected: string[]]>([
    ['github:issues.create:site', ['github:issues.create', 'mine:post']],
    [`http:DELETE:${host}/**`, ['github:repos.delete']],
    [`http:GET:${host}/users/me`, ['github:users.get', 'github:users.me']],
    ['http:*:*', []],
    ['secret:github_token:*', Object.values(github).map(({ key }) => `github:${key}`)],
    ['elsewhere:*:*', []],
  ])('names the actions that a rule with the pattern %s stops', async ([pattern, expected]) => {
    connectApi('mine', 'user', [
      actionOf('post', {
        method: 'POST',
        path: '/repos/{owner}/{repo}/issues',
        risk: 'write',
        params: [paramOf('owner', 'path'), paramOf('repo', 'path')],
      }),
    ]);
    await world.settle();
    expect((await stoppedActionsOf(pattern))?.toSorted()).toEqual(expected.toSorted());
  });

  test('names at most a hundred actions', async () => {
    const manyServices = Array.from({ length: 150 }, (_, at) =>
      actionOf(`read_${at}`, { path: `/r/${at}` }),
    );
    connectApi('many', 'org', manyServices);
    await world.settle();
    const rule = await createDenyRule('many:*:*');
    expect(rule.stops).toHaveLength(100);
    expect(rule.stops_cut).toBe(true);
  });

  test('names actions of services beyond the first 200', async () => {
    for (let at = 0; at < 250; at += 1) {
      const extraHost = `hub${at}.example`;
      connectGithub(world, ann, {
        name: `hub${at}`,
        baseUrl: `https://${extraHost}`,
        hosts: [extraHost],
      });
    }
    await world.settle();
    const rule = await createDenyRule('hub240:users.me:*');
    expect(rule.stops).toContainEqual({ service: 'hub240', action: 'users.me' });
    expect(rule.stops_cut).toBeUndefined();
  });

  test("names actions of other members' services when the rule is on the whole org", async () => {
    const root = world.user('root', { role: 'admin' });
    const [bob, cid] = [world.user('bob'), world.user('cid')];
    connectGithub(world, root, { name: 'mine' });
    for (const each of [bob, cid]) connectGithub(world, each, { name: 'theirs' });
    await world.settle();
    const rule = await world.rule(root, null, 'deny github:repos.delete:*');
    expect(rule.stops).toEqual([{ service: 'mine', action: 'repos.delete' }]);
    expect([rule.stops_of_others, rule.stops_cut]).toEqual([3, undefined]);
    const another = await world.rule(root, null, 'deny elsewhere:*:*');
    expect([another.stops, another.stops_of_others]).toEqual([[], 0]);
    expect(await createDenyRule('github:repos.delete:*')).not.toHaveProperty('stops_of_others');
    for (const { id } of [rule, another]) {
      await world.gateway.deleteRule({ principal: world.sign(root), id }, testDeadline());
    }
  });

  test('names no actions for an allow rule', async () => {
    expect(await world.rule(ann, bot, 'allow github:*:*')).not.toHaveProperty('stops');
  });
});
