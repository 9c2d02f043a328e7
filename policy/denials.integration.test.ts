import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';

import type { Call, HttpCall } from '#contracts/call';
import type { HttpMethod } from '#contracts/vocabulary';
import { actionOf, github, paramOf, templateOf } from './domain/action.testing.ts';
import {
  connectGithub,
  createIssue,
  createPolicyWorld,
  host,
  httpCallOf,
  listIssues,
  soon,
} from './world.testing.ts';
import type { TestIdentity, PolicyWorld } from './world.testing.ts';

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

const deny = (pattern: string) => world.rule(ann, bot, `deny ${pattern}`);
const outcome = async (call: Call) => (await world.decide(bot, call)).outcome;
const raw = (method: HttpMethod, path: string, more: Partial<HttpCall> = {}) =>
  outcome(httpCallOf({ method, target: `https://${host}${path}`, ...more }));

/** Another API on the host of the small GitHub. */
function connect(
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

describe('letter case, `.git` and blanks are no way around a deny', () => {
  const repo = paramOf('repo', 'path', { schema: { type: 'string', pattern: '^[a-z-]+$' } });
  const owner = paramOf('owner', 'path');
  const tag = paramOf('tag', 'query', { schema: { enum: ['open', 'closed'] } });

  beforeEach(async () => {
    connect('hub', 'global', [
      actionOf('issues.open', {
        method: 'POST',
        path: '/hub/{owner}/{repo}/issues',
        risk: 'write',
        params: [owner, repo],
        scopeParam: 'repo',
      }),
      actionOf('tags.list', { path: '/hub/tags', params: [tag], scopeParam: 'tag' }),
    ]);
    await world.settle();
    await deny('hub:issues.open:site');
    await deny('github:messages.post:General');
    await deny('hub:tags.list:open');
  });

  test.for<[path: string, expected: string]>([
    ['/hub/acme/site/issues', 'denied'],
    ['/hub/acme/SITE/issues', 'denied'],
    ['/hub/acme/site.git/issues', 'denied'],
    ['/hub/acme/site%20/issues', 'denied'],
    // No value that the parameter can have, so nobody knows what it is.
    ['/hub/acme/s.i.t.e/issues', 'denied'],
    ['/hub/acme/other/issues', 'permit'],
    ['/hub/acme/OTHER/issues', 'permit'],
  ])('in the path %s', async ([path, expected]) => {
    expect(await raw('POST', path)).toBe(expected);
    const verb = httpCallOf({ method: 'POST', service: 'hub', target: path });
    expect(await outcome(verb)).toBe(expected);
  });

  test.for<[query: string, expected: string]>([
    ['tag=open', 'denied'],
    ['tag=OPEN', 'denied'],
    ['TAG=open', 'denied'],
    ['tag=closed&tag=open', 'denied'],
    ['tag=ajar', 'denied'],
    ['tag=closed', 'permit'],
    ['tag=Closed', 'permit'],
  ])('in the query %s', async ([query, expected]) => {
    expect(await raw('GET', `/hub/tags?${query}`)).toBe(expected);
    expect(await raw('HEAD', `/hub/tags?${query}`)).toBe(expected);
  });

  test.for<[body: Record<string, unknown>, expected: string]>([
    [{ channel: 'GENERAL' }, 'denied'],
    [{ channel: ' general ' }, 'denied'],
    [{ Channel: 'general' }, 'denied'],
    [{ channel: 'random', CHANNEL: 'general' }, 'denied'],
    [{ channel: 'random, general' }, 'denied'],
    [{ channel: ['random', 'general'] }, 'denied'],
    [{ channel: 'random' }, 'permit'],
  ])('in the body %j', async ([body, expected]) => {
    expect(await raw('POST', '/messages', { body: body as HttpCall['body'] })).toBe(expected);
  });

  test('in an action', async () => {
    const post = (channel: string) =>
      outcome({ ...createIssue, action: 'messages.post', params: { channel } });
    expect(await post('GENERAL')).toBe('denied');
    expect(await post('random; general')).toBe('denied');
    expect(await post('random')).toBe('permit');
  });
});

test('a list of recipients is denied with any of them, also when it is replayed', async () => {
  const to = paramOf('to', 'body', {
    schema: { type: 'array', items: { type: 'object', properties: { email: { type: 'string' } } } },
  });
  connect('mail', 'global', [
    actionOf('send', {
      method: 'POST',
      path: '/mail',
      risk: 'write',
      params: [to],
      scopeParam: 'to',
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
  await deny('mail:send:boss@acme.example');

  expect(await outcome(call('ann@acme.example', 'Boss@ACME.example'))).toBe('denied');
  expect(await outcome(call('ann@acme.example', 'bob@acme.example'))).toBe('permit');

  const asking = world.below(ann, 'asking');
  const gap = world.gapIn(await world.decide(asking, call('ann@acme.example', 'cy@acme.example')));
  const replay = () =>
    world.approvals.permitReplay(
      {
        gap: world.signGap(gap),
        decision: world.decision(gap, ann),
        executionId: gap.jti,
        cascade: null,
      },
      soon(),
    );
  await world.rule(ann, asking, 'deny mail:send:dan@acme.example');
  expect((await replay()).outcome).toBe('permit');
  await world.rule(ann, asking, 'deny mail:send:cy@acme.example');
  expect((await replay()).outcome).toBe('denied');
});

describe('what a narrow deny on one service does to its neighbours on the host', () => {
  const events = [
    actionOf('get_event', { path: '/me/events/{id}', params: [paramOf('id', 'path')] }),
  ];
  const getEvent: Call = {
    ...listIssues,
    service: 'calendar',
    action: 'get_event',
    params: { id: '1' },
  };
  beforeEach(() => deny('github:users.get:ann'));

  test('nothing to what a built-in or an admin’s template lists', async () => {
    connect('calendar', 'global', events);
    await world.settle();
    expect(await outcome(getEvent)).toBe('permit');
    expect(await raw('GET', '/me/events/1')).toBe('permit');
    expect(await raw('HEAD', '/me/events/1')).toBe('permit');
    expect(await raw('GET', '/me/unlisted/1')).toBe('denied');
  });

  test('everything to what only a member lists', async () => {
    connect('calendar', 'user', events);
    await world.settle();
    expect(await outcome(getEvent)).toBe('denied');
    expect(await raw('GET', '/me/events/1')).toBe('denied');
  });

  test('everything to what carries other operations', async () => {
    connect('graph', 'org', [
      actionOf('query', { method: 'POST', path: '/graphql', risk: 'write', multiplex: true }),
      actionOf('plain', { method: 'POST', path: '/plain', risk: 'write' }),
    ]);
    await world.settle();
    const call = { ...createIssue, service: 'graph', params: {} };
    expect(await outcome({ ...call, action: 'query' })).toBe('denied');
    expect(await outcome({ ...call, action: 'plain' })).toBe('permit');
    expect(await raw('POST', '/graphql')).toBe('denied');
  });
});

describe('denies of addresses and credentials', () => {
  const org = () => connectGithub(world, ann, { tier: 'org', name: 'org/github' });
  const orgs = { ...createIssue, service: 'org/github' };

  test.for<[pattern: string, ofOwn: string, ofOrgs: string]>([
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
  ])('%s', async ([pattern, ofOwn, ofOrgs]) => {
    org();
    await world.settle();
    await deny(pattern);
    expect([await outcome(createIssue), await outcome(orgs)]).toEqual([ofOwn, ofOrgs]);
  });

  test('concern a read by its verb, a HEAD as the GET', async () => {
    await deny(`http:GET:${host}/repos/acme/**`);
    expect(await outcome(listIssues)).toBe('denied');
    expect(await raw('GET', '/repos/acme/site/issues')).toBe('denied');
    expect(await raw('HEAD', '/repos/ACME/site/issues')).toBe('denied');
    expect(await raw('POST', '/repos/acme/site/issues')).toBe('permit');
  });

  test('stop verb and raw calls as ever, and with the org’s credential by its plain name', async () => {
    org();
    await world.settle();
    await deny('secret:github_token:*');
    const verb = (service: string) =>
      outcome(httpCallOf({ method: 'POST', service, target: '/repos/acme/site/issues' }));
    expect([await verb('github'), await verb('org/github')]).toEqual(['denied', 'denied']);
    expect(await raw('POST', '/repos/acme/site/issues')).toBe('permit');
  });

  test('made since refuse the replay', async () => {
    const asking = world.below(ann, 'asking');
    const gap = world.gapIn(await world.decide(asking, createIssue));
    await world.rule(ann, asking, `deny http:POST:${host}/**`);
    const reply = await world.approvals.permitReplay(
      {
        gap: world.signGap(gap),
        decision: world.decision(gap, ann),
        executionId: gap.jti,
        cascade: null,
      },
      soon(),
    );
    expect(reply.outcome).toBe('denied');
  });
});

test('more on a host than is looked at could be anything', async () => {
  await deny('elsewhere:anything:x');
  expect(await outcome(createIssue)).toBe('permit');
  world.neighbours.isCut = true;
  await world.settle();
  expect(await outcome(createIssue)).toBe('denied');
  world.neighbours.isCut = false;
});

describe('the answer to a deny rule', () => {
  const stopsOf = async (pattern: string) =>
    (await deny(pattern)).stops?.map(({ service, action }) => `${service}:${action}`);

  test.for<[pattern: string, expected: string[]]>([
    ['github:issues.create:site', ['github:issues.create', 'mine:post']],
    [`http:DELETE:${host}/**`, ['github:repos.delete']],
    [`http:GET:${host}/users/me`, ['github:users.get', 'github:users.me']],
    ['http:*:*', []],
    ['secret:github_token:*', Object.values(github).map(({ key }) => `github:${key}`)],
    ['elsewhere:*:*', []],
  ])('%s names what it stops', async ([pattern, expected]) => {
    connect('mine', 'user', [
      actionOf('post', {
        method: 'POST',
        path: '/repos/{owner}/{repo}/issues',
        risk: 'write',
        params: [paramOf('owner', 'path'), paramOf('repo', 'path')],
      }),
    ]);
    await world.settle();
    expect((await stopsOf(pattern))?.toSorted()).toEqual(expected.toSorted());
  });

  test('names a hundred of many', async () => {
    const many = Array.from({ length: 150 }, (_, at) =>
      actionOf(`read_${at}`, { path: `/r/${at}` }),
    );
    connect('many', 'org', many);
    await world.settle();
    const rule = await deny('many:*:*');
    expect(rule.stops).toHaveLength(100);
    expect(rule.stops_cut).toBe(true);
  });

  test('names actions of services beyond the first 200', async () => {
    for (let at = 0; at < 250; at += 1) {
      const own = `hub${at}.example`;
      connectGithub(world, ann, { name: `hub${at}`, baseUrl: `https://${own}`, hosts: [own] });
    }
    await world.settle();
    const rule = await deny('hub240:users.me:*');
    expect(rule.stops).toContainEqual({ service: 'hub240', action: 'users.me' });
    expect(rule.stops_cut).toBeUndefined();
  });

  test('is cut where more is on a host than is looked at: then any call there is refused', async () => {
    world.neighbours.isCut = true;
    await world.settle();
    const rule = await deny('elsewhere:anything:x');
    world.neighbours.isCut = false;
    await world.settle();
    expect(rule.stops).toContainEqual({ service: 'github', action: 'users.me' });
  });

  test('counts what other members have, where the rule is for the whole org', async () => {
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
    expect(await deny('github:repos.delete:*')).not.toHaveProperty('stops_of_others');
    for (const { id } of [rule, another]) {
      await world.gateway.deleteRule({ principal: world.sign(root), id }, soon());
    }
  });

  test('an allow rule stops nothing', async () => {
    expect(await world.rule(ann, bot, 'allow github:*:*')).not.toHaveProperty('stops');
  });
});
