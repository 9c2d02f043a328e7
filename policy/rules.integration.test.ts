import { jetstream } from '@nats-io/jetstream';
import { v7 as newId } from 'uuid';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';

import { event as eventSchema } from '#contracts/events';
import type { Event } from '#contracts/events';
import { rule as ruleSchema } from '#contracts/http/rules';
import type { ErrorCode } from '#errors';
import { rememberedBy } from './planting.testing.ts';
import {
  connectGithub,
  createIssue,
  createPolicyWorld,
  httpCallOf,
  listIssues,
  soon,
} from './world.testing.ts';
import type { RuleFilter } from './repository/rules.ts';
import type { TestIdentity, PolicyWorld } from './world.testing.ts';

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

const refused = (code: ErrorCode) => expect.objectContaining({ code });
const remove = (being: TestIdentity, id: string) =>
  world.gateway.deleteRule({ principal: world.sign(being), id }, soon());
const list = (
  being: TestIdentity,
  more: Partial<RuleFilter> & { limit?: number; cursor?: string | null } = {},
) =>
  world.gateway.listRules(
    {
      principal: world.sign(being),
      identityId: more.identityId ?? null,
      effect: more.effect ?? null,
      createdBy: more.createdBy ?? null,
      approvalId: more.approvalId ?? null,
      page: { limit: more.limit ?? 50, cursor: more.cursor ?? null },
    },
    soon(),
  );
const patternsOf = async (being: TestIdentity, identityId?: string) =>
  (await list(being, identityId === undefined ? {} : { identityId })).items.map(
    ({ pattern }) => pattern,
  );

/** What the outbox has relayed, or is about to: bodies as subscribers get them. */
async function eventsOf(orgId: string): Promise<Event[]> {
  const rows = await world.db<{ body: string }[]>`
    select body from policy.outbox where org_id = ${orgId} order by id
  `;
  return rows.map(({ body }) => eventSchema.parse(JSON.parse(body)));
}

describe('creating rules', () => {
  test('a user makes one on an agent of its own, and it is announced and audited', async () => {
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

  test('the request that made it is in the audit entry', async () => {
    await world.gateway.createRule(
      {
        principal: world.sign(ann),
        body: { identity_id: bot.id, effect: 'deny', pattern: 'a:b:c' },
        context: { requestId: 'req-7', traceId: 't', ip: '10.0.0.1' },
      },
      soon(),
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
  ])('none %s', async ([, maker, on, code]) => {
    await expect(world.rule(maker(), on(), 'allow *:*:*')).rejects.toEqual(refused(code));
    expect(await patternsOf(admin)).toEqual([]);
  });

  test('an admin makes them anywhere in the org, and on it', async () => {
    await world.rule(admin, bot, 'allow a:b:c');
    await world.rule(admin, null, 'deny d:e:f');

    expect(await patternsOf(admin)).toEqual(['d:e:f', 'a:b:c']);
  });

  test.for<[name: string, body: object]>([
    ['a pattern that could never match', { pattern: 'git*:a:b' }],
    ['a spelling that no key has', { effect: 'deny', pattern: 'svc:act:caf%C3%A9' }],
    ['a path that no call can have', { effect: 'deny', pattern: 'http:DELETE:h/a/../b' }],
    ['an end that is past', { pattern: 'a:b:c', expires_at: '2020-01-01T00:00:00Z' }],
    ['a least risk on an allow rule', { pattern: 'a:b:c', risk_at_least: 'write' }],
  ])('none with %s', async ([, body]) => {
    const request = {
      principal: world.sign(ann),
      body: { identity_id: bot.id, effect: 'allow' as const, pattern: '', ...body },
    };

    await expect(world.gateway.createRule(request, soon())).rejects.toEqual(
      refused('invalid_params'),
    );
  });

  test('a deny rule holds, however its address is spelled', async () => {
    const call = httpCallOf({ method: 'DELETE', target: 'https://h.example/admin/users' });
    await world.rule(ann, bot, 'allow http:DELETE:h.example/**');
    expect((await world.decide(bot, call)).outcome).toBe('permit');

    const { pattern } = await world.rule(ann, bot, 'deny http:delete:H.example/%61dmin/**');

    expect(pattern).toBe('http:DELETE:h.example/admin/**');
    expect((await world.decide(bot, call)).outcome).toBe('denied');
  });

  test('one that was stored before hidden characters were encoded matches, and is shown, as they are now', async () => {
    const repo = 'r\u202eevil\u200b';
    const call = { ...createIssue, params: { ...createIssue.params, repo } };
    const other = world.below(ann, 'other');
    const { uncoveredKeys, suggestedTiers } = world.gapIn(await world.decide(other, call));
    const key = 'github:issues.create:r%E2%80%AEevil%E2%80%8B';
    expect([uncoveredKeys, suggestedTiers[0]]).toEqual([
      [key],
      { keys: [key], description: `Allow issues.create of github for ${key.slice(21)} only.` },
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

  test('none beyond what one identity may have', async () => {
    await world.db`
      insert into policy.rule (id, org_id, identity_id, owner_id, effect, pattern, exact,
                               created_by, creator_chain, made_by_admin)
      select gen_random_uuid(), ${ann.orgId}, ${bot.id}, ${ann.id}, 'allow', 'a:b:' || n, false,
             ${ann.id}, array[${ann.id}]::uuid[], false
        from generate_series(1, 500) as n
    `;

    await expect(world.rule(ann, bot, 'allow a:b:c')).rejects.toEqual(refused('conflict'));
    await expect(world.rule(ann, ann, 'allow a:b:c')).resolves.toBeDefined();
  });
});

describe('listing and deleting rules', () => {
  test('members see their subtree and the org, admins and auditors everything, newest first', async () => {
    await world.rule(ann, bot, 'allow ann:a:b');
    await world.rule(bob, bob, 'allow bob:a:b');
    await world.rule(admin, null, 'deny org:a:b');
    const eve = world.user('eve', { orgId: ann.orgId, role: 'auditor' });

    expect(await patternsOf(ann)).toEqual(['org:a:b', 'ann:a:b']);
    expect(await patternsOf(bob)).toEqual(['org:a:b', 'bob:a:b']);
    expect(await patternsOf(admin)).toEqual(['org:a:b', 'bob:a:b', 'ann:a:b']);
    expect(await patternsOf(eve)).toEqual(['org:a:b', 'bob:a:b', 'ann:a:b']);
    expect(await patternsOf(ann, bot.id)).toEqual(['ann:a:b']);
    await expect(patternsOf(bob, bot.id)).rejects.toEqual(refused('not_found'));
    await expect(patternsOf(bot)).rejects.toEqual(refused('forbidden'));
    expect(await patternsOf(world.user('m', { orgId: newId(), role: 'admin' }))).toEqual([]);
  });

  test('by effect, maker, approval and identity, which narrow the list together', async () => {
    await world.rule(ann, bot, 'allow a:b:c');
    await world.rule(ann, ann, 'deny a:b:d');
    await world.rule(admin, bot, 'deny a:b:e');
    const approvalId = newId();
    const patterns = [{ pattern: 'a:b:f', exact: true }];
    await world.approvals.plantRules(
      rememberedBy(world, { on: bot, by: ann, patterns, approvalId }),
      soon(),
    );
    const named = async (being: TestIdentity, filter: Partial<RuleFilter>) =>
      (await list(being, filter)).items.map(({ pattern }) => pattern.at(-1)).join('');

    expect(await named(admin, { effect: 'deny' })).toBe('ed');
    expect(await named(admin, { effect: 'deny', createdBy: ann.id })).toBe('d');
    expect(await named(ann, { createdBy: admin.id })).toBe('e');
    expect(await named(ann, { approvalId })).toBe('f');
    expect(await named(ann, { approvalId, effect: 'deny' })).toBe('');
    expect(await named(ann, { identityId: bot.id, effect: 'allow' })).toBe('fc');
    expect(await named(bob, { createdBy: ann.id })).toBe('');
  });

  test('page by page, each once', async () => {
    for (let index = 0; index < 5; index += 1) await world.rule(ann, bot, `allow a:b:${index}`);
    const first = await list(ann, { limit: 2 });
    const second = await list(ann, { limit: 2, cursor: first.next_cursor });
    const third = await list(ann, { limit: 2, cursor: second.next_cursor });

    const all = [first, second, third].flatMap(({ items }) => items.map(({ pattern }) => pattern));
    expect(all).toEqual(['a:b:4', 'a:b:3', 'a:b:2', 'a:b:1', 'a:b:0']);
    expect(third.next_cursor).toBeNull();
    await expect(list(ann, { cursor: 'nonsense' })).rejects.toEqual(refused('invalid_request'));
  });

  test('a deleted rule no longer counts, is announced, and is gone', async () => {
    const rule = await world.rule(ann, bot, 'allow github:*:*');
    expect((await world.decide(bot, createIssue)).outcome).toBe('permit');
    await remove(ann, rule.id);

    expect((await world.decide(bot, createIssue)).outcome).toBe('gap');
    expect((await eventsOf(ann.orgId)).map(({ type }) => type)).toEqual([
      'rule.created',
      'rule.deleted',
    ]);
    await expect(remove(ann, rule.id)).rejects.toEqual(refused('not_found'));
  });

  test('of parallel deletions one succeeds and one event is told', async () => {
    const rule = await world.rule(ann, bot, 'allow github:*:*');
    const results = await Promise.allSettled(
      Array.from({ length: 10 }, () => remove(ann, rule.id)),
    );

    expect(results.filter(({ status }) => status === 'fulfilled')).toHaveLength(1);
    expect(await eventsOf(ann.orgId)).toHaveLength(2);
  });

  test('what an admin made only admins take away', async () => {
    const onBot = await world.rule(admin, bot, 'deny a:b:c');
    const onOrg = await world.rule(admin, null, 'deny a:b:c');

    await expect(remove(ann, onBot.id)).rejects.toEqual(refused('forbidden'));
    await expect(remove(ann, onOrg.id)).rejects.toEqual(refused('forbidden'));
    await remove(admin, onBot.id);
    await remove(admin, onOrg.id);
    expect(await patternsOf(admin)).toEqual([]);
  });

  test("another user's, another org's and a random rule are all not found", async () => {
    const rule = await world.rule(ann, bot, 'allow a:b:c');
    const mallory = world.user('mallory', { orgId: newId(), role: 'admin' });

    await expect(remove(bob, rule.id)).rejects.toEqual(refused('not_found'));
    await expect(remove(mallory, rule.id)).rejects.toEqual(refused('not_found'));
    await expect(remove(ann, newId())).rejects.toEqual(refused('not_found'));
    await expect(remove(bot, rule.id)).rejects.toEqual(refused('forbidden'));
    expect(await patternsOf(ann)).toEqual(['a:b:c']);
  });

  test('an expired rule neither counts nor is listed', async () => {
    const rule = await world.rule(ann, bot, 'allow github:*:*');
    await world.db`update policy.rule set expires_at = now() - interval '1 second' where id = ${rule.id}`;
    await world.rule(ann, bot, 'allow other:a:b');

    expect((await world.decide(bot, createIssue)).outcome).toBe('gap');
    expect(await patternsOf(ann)).toEqual(['other:a:b']);
  });
});

describe('planting rules', () => {
  const planting = (more: Partial<Parameters<typeof rememberedBy>[1]> = {}) =>
    rememberedBy(world, {
      on: bot,
      by: ann,
      patterns: [
        { pattern: 'github:issues.create:site', exact: true },
        { pattern: 'github:issues.close:*', exact: false },
      ],
      serviceId: world.neighbours.services[0]?.id ?? null,
      ...more,
    });
  const plant = (request: ReturnType<typeof planting>) =>
    world.approvals.plantRules(request, soon());

  test('twenty at once, on two replicas, plant each rule once and announce it once', async () => {
    await using _replica = await world.startReplica();
    const request = planting();
    const replies = await Promise.all(Array.from({ length: 20 }, () => plant(request)));

    const [first] = replies;
    expect(first?.ruleIds).toHaveLength(2);
    for (const reply of replies) expect(reply.ruleIds).toEqual(first?.ruleIds);
    expect(await eventsOf(ann.orgId)).toHaveLength(2);
    expect(await patternsOf(ann)).toHaveLength(2);
  });

  test('they count for the call they were made for, and are bound to its service', async () => {
    await plant(planting());
    expect((await world.decide(bot, createIssue)).outcome).toBe('permit');
    const other = { ...createIssue, params: { owner: 'acme', repo: 'other', title: 'x' } };
    expect((await world.decide(bot, other)).outcome).toBe('gap');

    world.neighbours.services.length = 0;
    connectGithub(world, ann);
    await world.settle();
    expect((await world.decide(bot, createIssue)).outcome).toBe('gap');
  });

  test('one that was deleted is not planted again by a late event', async () => {
    const request = planting();
    const { ruleIds } = await plant(request);
    for (const id of ruleIds) await remove(ann, id);

    expect(await plant(request)).toEqual({ ruleIds: [] });
    expect(await patternsOf(ann)).toEqual([]);
  });

  test('two approvals plant the same pattern side by side', async () => {
    const [first, second] = [await plant(planting()), await plant(planting())];

    expect(new Set([...first.ruleIds, ...second.ruleIds]).size).toBe(4);
  });

  test('what an agent allowed its subagent counts only while the agent may do it itself', async () => {
    const sub = world.below(bot, 'sub');
    const own = await world.rule(ann, bot, 'allow github:*:*');
    await plant(planting({ on: sub, by: bot }));
    expect((await world.decide(sub, createIssue)).outcome).toBe('permit');
    await remove(ann, own.id);

    expect((await world.decide(sub, createIssue)).outcome).toBe('gap');
  });

  test('what a subagent elsewhere allowed, planted on their common agent, needs that one too', async () => {
    const sibling = world.below(bot, 'sibling', { inheritPermissions: true });
    const own = await world.rule(ann, sibling, 'allow github:*:*');
    await plant(planting({ by: sibling }));
    expect((await world.decide(bot, createIssue)).outcome).toBe('permit');

    sibling.active = false;
    await world.settle();
    expect((await world.decide(bot, createIssue)).outcome).toBe('gap');
    sibling.active = true;
    await world.settle();
    await remove(ann, own.id);
    expect((await world.decide(bot, createIssue)).outcome).toBe('gap');
  });

  test('its user may delete what the agent made; what an admin allowed only an admin', async () => {
    await world.rule(ann, bot, 'allow github:*:*');
    const byAgent = await plant(planting({ on: world.below(bot, 'sub'), by: bot }));
    const byAdmin = await plant(planting({ by: admin }));

    for (const id of byAgent.ruleIds) await remove(ann, id);
    for (const id of byAdmin.ruleIds) {
      await expect(remove(ann, id)).rejects.toEqual(refused('forbidden'));
      await remove(admin, id);
    }
  });

  test('none on an identity that is not there', async () => {
    const gone = { ...bot, id: newId() };
    await expect(plant(planting({ on: gone }))).rejects.toEqual(refused('not_found'));
    const by = { ...ann, orgId: newId() };
    const elsewhere = { ...bot, orgId: by.orgId };
    await expect(plant(planting({ on: elsewhere, by }))).rejects.toEqual(refused('not_found'));
  });

  test('none by anybody but approvals', async () => {
    await expect(world.gateway.plantRules(planting(), soon())).rejects.toEqual(
      refused('unavailable'),
    );
  });

  test('the event plants what the call could not, once however often it comes', async () => {
    const approvalId = newId();
    const { gap, decision } = planting({ approvalId });
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
    const forged = {
      ...event.data,
      decision: planting({ by: world.below(bot, 'thief') }).decision,
    };
    await stream.publish(subject, JSON.stringify({ ...event, id: newId(), data: forged }));
    await stream.publish(subject, JSON.stringify({ ...event, id: newId() }));
    await stream.publish(subject, JSON.stringify({ ...event, id: newId() }));

    await expect.poll(() => patternsOf(ann), { timeout: 10_000 }).toHaveLength(2);
    await plant(planting({ approvalId }));
    expect(await eventsOf(ann.orgId)).toHaveLength(2);
    expect((await world.decide(bot, createIssue)).outcome).toBe('permit');
  });
});

describe('other replicas', () => {
  test('hear of a rule by its event', async () => {
    await using _replica = await world.startReplica();
    await world.decide(bot, createIssue);
    await world.rule(ann, bot, 'allow github:issues.create:*');

    const outcomes = async () =>
      Promise.all(
        Array.from({ length: 8 }, async () => (await world.decide(bot, createIssue)).outcome),
      );
    await expect.poll(outcomes, { timeout: 5_000 }).toEqual(Array(8).fill('permit'));
  });
});

describe('use of rules', () => {
  test('is written down when policy stops, by all that counted it', async () => {
    const rule = await world.rule(ann, bot, 'allow github:*:*');
    await using replica = await world.startReplica();
    await Promise.all(Array.from({ length: 20 }, () => world.decide(bot, createIssue)));
    await world.decide(bot, listIssues);
    await replica[Symbol.asyncDispose]();

    const count = async () => {
      const { items } = await list(ann);
      return items.find(({ id }) => id === rule.id)?.use_count ?? 0;
    };
    // The other replica writes down what it counted within its ten seconds.
    await expect.poll(count, { timeout: 15_000, interval: 250 }).toBe(21);
    expect((await list(ann)).items[0]?.last_used_at).not.toBeNull();
  });
});
