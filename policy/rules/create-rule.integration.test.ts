import { jetstream } from '@nats-io/jetstream';
import { v7 as newId } from 'uuid';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';

import { event as eventSchema } from '#contracts/events';
import type { Event } from '#contracts/events';
import { rule as ruleSchema } from '#contracts/http/rules';
import type { ErrorCode } from '#errors';
import { signPlanting } from '../decisions/planting.testing.ts';
import {
  connectGithub,
  createIssue,
  createPolicyWorld,
  httpCallOf,
  testDeadline,
} from '../world.testing.ts';
import type { TestIdentity, PolicyWorld } from '../world.testing.ts';
import type { RuleFilter } from './rule.sql.ts';

let world: PolicyWorld;
let admin: TestIdentity;
let ann: TestIdentity;
let bob: TestIdentity;
let bot: TestIdentity;

beforeAll(async () => {
  world = await createPolicyWorld();
});
afterAll(async () => {
  await world[Symbol.asyncDispose]();
});
beforeEach(async () => {
  const orgId = newId();
  admin = world.user('root', { orgId, role: 'admin' });
  ann = world.user('ann', { orgId });
  bob = world.user('bob', { orgId });
  bot = world.below(ann, 'bot');
  world.neighbours.services.length = 0;
  connectGithub(world, ann);
  await world.settle();
});

const expectedRefusal = (code: ErrorCode) => expect.objectContaining({ code });
const remove = (identity: TestIdentity, id: string) =>
  world.gateway.deleteRule({ principal: world.sign(identity), id }, testDeadline());
const list = (
  identity: TestIdentity,
  more: Partial<RuleFilter> & { limit?: number; cursor?: string | null } = {},
) =>
  world.gateway.listRules(
    {
      principal: world.sign(identity),
      identityId: more.identityId ?? null,
      effect: more.effect ?? null,
      createdBy: more.createdBy ?? null,
      approvalId: more.approvalId ?? null,
      service: more.service ?? null,
      scope: more.scope ?? null,
      page: { limit: more.limit ?? 50, cursor: more.cursor ?? null },
    },
    testDeadline(),
  );
const patternsOf = async (identity: TestIdentity, identityId?: string) =>
  (await list(identity, identityId === undefined ? {} : { identityId })).items.map(
    ({ pattern }) => pattern,
  );

/**
 * The events in the outbox, both relayed and waiting, with their bodies as subscribers receive
 * them.
 */
async function eventsOf(orgId: string): Promise<Event[]> {
  const rows = await world.db<{ body: string }[]>`
    select body from policy.outbox where org_id = ${orgId} order by id
  `;
  return rows.map(({ body }) => eventSchema.parse(JSON.parse(body)));
}

describe('creating rules', () => {
  test('lets a user create a rule on its own agent, with an event and an audit entry', async () => {
    const rule = await world.rule(ann, bot, 'allow http:get:API.example.com/**');

    expect(ruleSchema.parse(rule)).toEqual(rule);
    expect(rule).toMatchObject({
      org_id: ann.orgId,
      identity_id: bot.id,
      effect: 'allow',
      pattern: 'http:GET:api.example.com/**',
      exact: false,
      created_by: ann.id,
      approval_id: null,
      use_count: 0,
      used: null,
      description: 'bot may send GET requests to anything on api.example.com.',
    });
    expect(await eventsOf(ann.orgId)).toEqual([
      expect.objectContaining({
        type: 'rule.created',
        audience: [ann.id, bot.id],
        data: expect.objectContaining({ rule_id: rule.id, identity_id: bot.id, effect: 'allow' }),
        audit: expect.objectContaining({
          user_id: ann.id,
          identity: { id: ann.id, kind: 'user', name: 'ann', path: ['ann'] },
          permission_keys: [rule.pattern],
          description: 'Created a rule for bot: allow http:GET:api.example.com/**',
        }),
      }),
    ]);
  });

  test('puts the id of the request into the audit entry', async () => {
    await world.gateway.createRule(
      {
        principal: world.sign(ann),
        body: { identity_id: bot.id, effect: 'deny', pattern: 'a:b:c' },
        context: { requestId: 'req-7', traceId: 't', ip: '10.0.0.1' },
      },
      testDeadline(),
    );

    expect((await eventsOf(ann.orgId))[0]?.audit).toMatchObject({
      request_id: 'req-7',
      ip: '10.0.0.1',
    });
  });

  test.for<
    [name: string, maker: () => TestIdentity, on: () => TestIdentity | null, code: ErrorCode]
  >([
    ["on another user's agent", () => bob, () => bot, 'not_found'],
    ['on another user', () => bob, () => ann, 'not_found'],
    ['on the org by a member', () => ann, () => null, 'forbidden'],
    ['by the agent itself', () => bot, () => bot, 'forbidden'],
    ['by an agent on its subagent', () => bot, () => world.below(bot, 'sub'), 'forbidden'],
    [
      'by an auditor',
      () => world.user('eve', { orgId: ann.orgId, role: 'auditor' }),
      () => bot,
      'forbidden',
    ],
    [
      "by another org's admin",
      () => world.user('mallory', { orgId: newId(), role: 'admin' }),
      () => bot,
      'not_found',
    ],
  ])('refuses a rule %s', async ([, maker, on, code]) => {
    await expect(world.rule(maker(), on(), 'allow *:*:*')).rejects.toEqual(expectedRefusal(code));
    expect(await patternsOf(admin)).toEqual([]);
  });

  test('lets an admin create rules anywhere in the org and on the org', async () => {
    await world.rule(admin, bot, 'allow a:b:c');
    await world.rule(admin, null, 'deny d:e:f');

    expect(await patternsOf(admin)).toEqual(['d:e:f', 'a:b:c']);
  });

  test.for<[name: string, body: object]>([
    ['a pattern that could never match', { pattern: 'git*:a:b' }],
    [
      'a pattern with a spelling that no permission key has',
      { effect: 'deny', pattern: 'svc:act:caf%C3%A9' },
    ],
    [
      'a pattern with a path that no call can have',
      { effect: 'deny', pattern: 'http:DELETE:h/a/../b' },
    ],
    ['an expiry in the past', { pattern: 'a:b:c', expires_at: '2020-01-01T00:00:00Z' }],
    ['a minimum risk on an allow rule', { pattern: 'a:b:c', risk_at_least: 'write' }],
  ])('refuses a rule with %s', async ([, body]) => {
    const request = {
      principal: world.sign(ann),
      body: { identity_id: bot.id, effect: 'allow' as const, pattern: '', ...body },
    };

    await expect(world.gateway.createRule(request, testDeadline())).rejects.toEqual(
      expectedRefusal('invalid_params'),
    );
  });

  test('creates deny rules that match an address in whatever spelling the address was entered', async () => {
    const call = httpCallOf({ method: 'DELETE', target: 'https://h.example/admin/users' });
    await world.rule(ann, bot, 'allow http:DELETE:h.example/**');
    expect((await world.decide(bot, call)).outcome).toBe('permit');

    const { pattern } = await world.rule(ann, bot, 'deny http:delete:H.example/%61dmin/**');

    expect(pattern).toBe('http:DELETE:h.example/admin/**');
    expect((await world.decide(bot, call)).outcome).toBe('denied');
  });

  test('matches a key with encoded invisible characters, although an earlier release stored the rule unencoded', async () => {
    const repo = 'r\u202eevil\u200b';
    const call = { ...createIssue, params: { ...createIssue.params, repo } };
    const other = world.below(ann, 'other');
    const { uncoveredKeys, suggestedTiers } = world.gapIn(await world.decide(other, call));
    const key = 'github:issues.create:r%E2%80%AEevil%E2%80%8B';
    expect([uncoveredKeys, suggestedTiers[0]]).toEqual([
      [key],
      { keys: [key], description: `other may create issue … in ${key.slice(21)} with GitHub.` },
    ]);

    await world.db`
      insert into policy.rule (id, org_id, identity_id, owner_id, effect, pattern, exact,
                               created_by, creator_chain, made_by_admin)
      values (${newId()}, ${ann.orgId}, ${bot.id}, ${ann.id}, 'allow',
              ${`github:issues.create:${repo}`}, true, ${ann.id}, array[${ann.id}]::uuid[], false)
    `;

    expect((await world.decide(bot, call)).outcome).toBe('permit');
    expect(await patternsOf(ann, bot.id)).toEqual([key]);
  });

  test('refuses more rules than one identity may have', async () => {
    await world.db`
      insert into policy.rule (id, org_id, identity_id, owner_id, effect, pattern, exact,
                               created_by, creator_chain, made_by_admin)
      select gen_random_uuid(), ${ann.orgId}, ${bot.id}, ${ann.id}, 'allow', 'a:b:' || n, false,
             ${ann.id}, array[${ann.id}]::uuid[], false
        from generate_series(1, 500) as n
    `;

    await expect(world.rule(ann, bot, 'allow a:b:c')).rejects.toEqual(expectedRefusal('conflict'));
    await expect(world.rule(ann, ann, 'allow a:b:c')).resolves.toBeDefined();
  });
});

describe('listing and deleting rules', () => {
  test('shows members the rules of their subtree and the org, admins and auditors all rules, newest first', async () => {
    await world.rule(ann, bot, 'allow ann:a:b');
    await world.rule(bob, bob, 'allow bob:a:b');
    await world.rule(admin, null, 'deny org:a:b');
    const eve = world.user('eve', { orgId: ann.orgId, role: 'auditor' });

    expect(await patternsOf(ann)).toEqual(['org:a:b', 'ann:a:b']);
    expect(await patternsOf(bob)).toEqual(['org:a:b', 'bob:a:b']);
    expect(await patternsOf(admin)).toEqual(['org:a:b', 'bob:a:b', 'ann:a:b']);
    expect(await patternsOf(eve)).toEqual(['org:a:b', 'bob:a:b', 'ann:a:b']);
    expect(await patternsOf(ann, bot.id)).toEqual(['ann:a:b']);
    await expect(patternsOf(bob, bot.id)).rejects.toEqual(expectedRefusal('not_found'));
    await expect(patternsOf(bot)).rejects.toEqual(expectedRefusal('forbidden'));
    expect(await patternsOf(world.user('m', { orgId: newId(), role: 'admin' }))).toEqual([]);
  });

  test('filters by effect, creator, approval and identity together', async () => {
    await world.rule(ann, bot, 'allow a:b:c');
    await world.rule(ann, ann, 'deny a:b:d');
    await world.rule(admin, bot, 'deny a:b:e');
    const approvalId = newId();
    const patterns = [{ pattern: 'a:b:f', exact: true }];
    await world.approvals.plantRules(
      signPlanting(world, { on: bot, by: ann, patterns, approvalId }),
      testDeadline(),
    );
    const listRuleNames = async (identity: TestIdentity, filter: Partial<RuleFilter>) =>
      (await list(identity, filter)).items.map(({ pattern }) => pattern.at(-1)).join('');

    expect(await listRuleNames(admin, { effect: 'deny' })).toBe('ed');
    expect(await listRuleNames(admin, { effect: 'deny', createdBy: ann.id })).toBe('d');
    expect(await listRuleNames(ann, { createdBy: admin.id })).toBe('e');
    expect(await listRuleNames(ann, { approvalId })).toBe('f');
    expect(await listRuleNames(ann, { approvalId, effect: 'deny' })).toBe('');
    expect(await listRuleNames(ann, { identityId: bot.id, effect: 'allow' })).toBe('fc');
    expect(await listRuleNames(bob, { createdBy: ann.id })).toBe('');
  });

  test('returns each rule once, page by page', async () => {
    for (let index = 0; index < 5; index += 1) await world.rule(ann, bot, `allow a:b:${index}`);
    const first = await list(ann, { limit: 2 });
    const second = await list(ann, { limit: 2, cursor: first.next_cursor });
    const third = await list(ann, { limit: 2, cursor: second.next_cursor });

    const listedPatterns = [first, second, third].flatMap(({ items }) =>
      items.map(({ pattern }) => pattern),
    );
    expect(listedPatterns).toEqual(['a:b:4', 'a:b:3', 'a:b:2', 'a:b:1', 'a:b:0']);
    expect(third.next_cursor).toBeNull();
    await expect(list(ann, { cursor: 'nonsense' })).rejects.toEqual(
      expectedRefusal('invalid_request'),
    );
  });

  test('deletes a rule, which then no longer counts, and emits an event', async () => {
    const rule = await world.rule(ann, bot, 'allow github:*:*');
    expect((await world.decide(bot, createIssue)).outcome).toBe('permit');
    await remove(ann, rule.id);

    expect((await world.decide(bot, createIssue)).outcome).toBe('gap');
    expect((await eventsOf(ann.orgId)).map(({ type }) => type)).toEqual([
      'rule.created',
      'rule.deleted',
    ]);
    await expect(remove(ann, rule.id)).rejects.toEqual(expectedRefusal('not_found'));
  });

  test('lets one of parallel deletions succeed, with one event', async () => {
    const rule = await world.rule(ann, bot, 'allow github:*:*');
    const results = await Promise.allSettled(
      Array.from({ length: 10 }, () => remove(ann, rule.id)),
    );

    expect(results.filter(({ status }) => status === 'fulfilled')).toHaveLength(1);
    expect(await eventsOf(ann.orgId)).toHaveLength(2);
  });

  test('lets only admins delete rules that an admin made', async () => {
    const ruleOnBot = await world.rule(admin, bot, 'deny a:b:c');
    const ruleOnOrg = await world.rule(admin, null, 'deny a:b:c');

    await expect(remove(ann, ruleOnBot.id)).rejects.toEqual(expectedRefusal('forbidden'));
    await expect(remove(ann, ruleOnOrg.id)).rejects.toEqual(expectedRefusal('forbidden'));
    await remove(admin, ruleOnBot.id);
    await remove(admin, ruleOnOrg.id);
    expect(await patternsOf(admin)).toEqual([]);
  });

  test('answers not_found for the rules of another user or org, and for unknown ids', async () => {
    const rule = await world.rule(ann, bot, 'allow a:b:c');
    const mallory = world.user('mallory', { orgId: newId(), role: 'admin' });

    await expect(remove(bob, rule.id)).rejects.toEqual(expectedRefusal('not_found'));
    await expect(remove(mallory, rule.id)).rejects.toEqual(expectedRefusal('not_found'));
    await expect(remove(ann, newId())).rejects.toEqual(expectedRefusal('not_found'));
    await expect(remove(bot, rule.id)).rejects.toEqual(expectedRefusal('forbidden'));
    expect(await patternsOf(ann)).toEqual(['a:b:c']);
  });

  test('neither applies nor lists expired rules', async () => {
    const rule = await world.rule(ann, bot, 'allow github:*:*');
    await world.db`update policy.rule set expires_at = now() - interval '1 second' where id = ${rule.id}`;
    await world.rule(ann, bot, 'allow other:a:b');

    expect((await world.decide(bot, createIssue)).outcome).toBe('gap');
    expect(await patternsOf(ann)).toEqual(['other:a:b']);
  });

  test('lists only the rules that name the requested service', async () => {
    await world.rule(ann, bot, 'allow github:*:*');
    await world.rule(ann, bot, 'allow github_2:a:b');
    await world.rule(ann, bot, 'allow org/github:a:b');

    for (const [service, patterns] of [
      ['github', ['github:*:*']],
      ['org/github', ['org/github:a:b']],
      ['gitlab', []],
    ] as const) {
      const { items } = await list(ann, { service });
      expect(items.map(({ pattern }) => pattern)).toEqual(patterns);
    }
  });

  test('lists only the rules on the org when the scope is org', async () => {
    await world.rule(ann, bot, 'allow github:*:*');
    await world.rule(admin, null, 'deny github:delete_repository:*');

    const { items } = await list(ann, { scope: 'org' });
    expect(items.map(({ pattern }) => pattern)).toEqual(['github:delete_repository:*']);
  });
});

describe('creating the rules of a decision', () => {
  const signTestPlanting = (more: Partial<Parameters<typeof signPlanting>[1]> = {}) =>
    signPlanting(world, {
      on: bot,
      by: ann,
      patterns: [
        { pattern: 'github:issues.create:site', exact: true },
        { pattern: 'github:issues.close:*', exact: false },
      ],
      serviceId: world.neighbours.services[0]?.id ?? null,
      ...more,
    });
  const plantRule = (request: ReturnType<typeof signTestPlanting>) =>
    world.approvals.plantRules(request, testDeadline());

  test('creates each rule once, with one event, for twenty concurrent requests on two replicas', async () => {
    await using _replica = await world.startReplica();
    const request = signTestPlanting();
    const replies = await Promise.all(Array.from({ length: 20 }, () => plantRule(request)));

    const [first] = replies;
    expect(first?.ruleIds).toHaveLength(2);
    for (const reply of replies) expect(reply.ruleIds).toEqual(first?.ruleIds);
    expect(await eventsOf(ann.orgId)).toHaveLength(2);
    expect(await patternsOf(ann)).toHaveLength(2);
  });

  test('does not describe a rule with the title of a service that took over the name since', async () => {
    const [service] = world.neighbours.services;
    await plantRule(signTestPlanting());
    const before = (await list(ann)).items[0]?.description;
    service!.id = newId();
    await world.settle();

    expect([before, (await list(ann)).items[0]?.description]).toEqual([
      expect.stringContaining('with GitHub'),
      expect.stringContaining('with github'),
    ]);
  });

  test('creates rules that allow the approved call and are limited to the service of that call', async () => {
    await plantRule(signTestPlanting());
    expect((await world.decide(bot, createIssue)).outcome).toBe('permit');
    const other = { ...createIssue, params: { owner: 'acme', repo: 'other', title: 'x' } };
    expect((await world.decide(bot, other)).outcome).toBe('gap');

    world.neighbours.services.length = 0;
    connectGithub(world, ann);
    await world.settle();
    expect((await world.decide(bot, createIssue)).outcome).toBe('gap');
  });

  test('does not create a deleted rule again when the event is delivered again', async () => {
    const request = signTestPlanting();
    const { ruleIds } = await plantRule(request);
    for (const id of ruleIds) await remove(ann, id);

    expect(await plantRule(request)).toEqual({ ruleIds: [] });
    expect(await patternsOf(ann)).toEqual([]);
  });

  test('creates two rules when two approvals remember the same pattern', async () => {
    const [first, second] = [
      await plantRule(signTestPlanting()),
      await plantRule(signTestPlanting()),
    ];

    expect(new Set([...first.ruleIds, ...second.ruleIds]).size).toBe(4);
  });

  test("applies a rule that an agent made only while the agent's own authority covers the rule", async () => {
    const sub = world.below(bot, 'sub');
    const ownRule = await world.rule(ann, bot, 'allow github:*:*');
    await plantRule(signTestPlanting({ on: sub, by: bot }));
    expect((await world.decide(sub, createIssue)).outcome).toBe('permit');
    await remove(ann, ownRule.id);

    expect((await world.decide(sub, createIssue)).outcome).toBe('gap');
  });

  test('applies a rule that another subagent made on the common agent only while its maker’s authority covers the rule', async () => {
    const sibling = world.below(bot, 'sibling', { inheritPermissions: true });
    const ownRule = await world.rule(ann, sibling, 'allow github:*:*');
    await plantRule(signTestPlanting({ by: sibling }));
    expect((await world.decide(bot, createIssue)).outcome).toBe('permit');

    sibling.active = false;
    await world.settle();
    expect((await world.decide(bot, createIssue)).outcome).toBe('gap');
    sibling.active = true;
    await world.settle();
    await remove(ann, ownRule.id);
    expect((await world.decide(bot, createIssue)).outcome).toBe('gap');
  });

  test('lets a user delete rules from its agent’s decision, but only admins delete rules from an admin’s decision', async () => {
    await world.rule(ann, bot, 'allow github:*:*');
    const rulesByAgent = await plantRule(
      signTestPlanting({ on: world.below(bot, 'sub'), by: bot }),
    );
    const rulesByAdmin = await plantRule(signTestPlanting({ by: admin }));

    for (const id of rulesByAgent.ruleIds) await remove(ann, id);
    for (const id of rulesByAdmin.ruleIds) {
      await expect(remove(ann, id)).rejects.toEqual(expectedRefusal('forbidden'));
      await remove(admin, id);
    }
  });

  test('creates no rule on an identity that does not exist', async () => {
    const missingIdentity = { ...bot, id: newId() };
    await expect(plantRule(signTestPlanting({ on: missingIdentity }))).rejects.toEqual(
      expectedRefusal('not_found'),
    );
    const by = { ...ann, orgId: newId() };
    const agentOfOtherOrg = { ...bot, orgId: by.orgId };
    await expect(plantRule(signTestPlanting({ on: agentOfOtherOrg, by }))).rejects.toEqual(
      expectedRefusal('not_found'),
    );
  });

  test('creates no rule for components other than approvals', async () => {
    await expect(world.gateway.plantRules(signTestPlanting(), testDeadline())).rejects.toEqual(
      expectedRefusal('unavailable'),
    );
  });

  test('creates rules from the event when the direct request failed, and only once however often the event arrives', async () => {
    const approvalId = newId();
    const { gap, decision } = signTestPlanting({ approvalId });
    const event = {
      type: 'approval.remembered',
      created_at: new Date().toISOString(),
      org_id: ann.orgId,
      audience: [ann.id, bot.id],
      data: { approval_id: approvalId, gap, decision },
      audit: null,
    };
    const stream = jetstream((await world.bus('approvals')).nats);
    const subject = 'evt.approvals.approval.remembered';
    await stream.publish(
      subject,
      JSON.stringify({ ...event, id: newId(), data: { malformed: true } }),
    );
    const forgedRequest = {
      ...event.data,
      decision: signTestPlanting({ by: world.below(bot, 'thief') }).decision,
    };
    await stream.publish(subject, JSON.stringify({ ...event, id: newId(), data: forgedRequest }));
    await stream.publish(subject, JSON.stringify({ ...event, id: newId() }));
    await stream.publish(subject, JSON.stringify({ ...event, id: newId() }));

    await expect.poll(() => patternsOf(ann)).toHaveLength(2);
    await plantRule(signTestPlanting({ approvalId }));
    expect(await eventsOf(ann.orgId)).toHaveLength(2);
    expect((await world.decide(bot, createIssue)).outcome).toBe('permit');
  });
});

describe('the replicas of policy', () => {
  test('all learn of a new rule from its event', async () => {
    await using _replica = await world.startReplica();
    await world.decide(bot, createIssue);
    await world.rule(ann, bot, 'allow github:issues.create:*');

    const decideOnReplicas = async () =>
      Promise.all(
        Array.from({ length: 8 }, async () => (await world.decide(bot, createIssue)).outcome),
      );
    await expect.poll(decideOnReplicas).toEqual(Array(8).fill('permit'));
  });
});

describe('the description of a rule', () => {
  test('has the title of the service and the name of the holder, in lists and on creation', async () => {
    connectGithub(world, ann, { name: 'work' });
    await world.settle();
    const made = await world.rule(ann, bot, 'allow work:issues.create:site');
    await world.rule(ann, ann, 'deny gone:*:*');
    const description = 'bot may create issue … in site with GitHub (work).';

    expect(made.description).toBe(description);
    expect((await list(ann)).items.map((rule) => rule.description)).toEqual([
      'No agent of ann may do anything with gone.',
      description,
    ]);
  });
});
