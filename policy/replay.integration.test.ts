import { v7 as newId } from 'uuid';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';

import { policy } from '#contracts/bus/policy';
import type { DecisionStatement } from '#contracts/decision';
import type { Call } from '#contracts/call';
import type { Gap } from '#contracts/permit';
import { permit as permitSchema } from '#contracts/permit';
import type { ErrorCode } from '#errors';
import { createVerifier } from '#signing';
import { templateDigest } from '#templates';
import { rememberedBy } from './planting.testing.ts';
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
let sub: TestIdentity;

beforeAll(async () => {
  world = await createPolicyWorld();
});
afterAll(async () => {
  await world[Symbol.asyncDispose]();
});
beforeEach(async () => {
  const orgId = newId();
  ann = world.user('ann', { orgId });
  bot = world.below(ann, 'bot');
  sub = world.below(bot, 'sub');
  world.neighbours.services.length = 0;
  world.neighbours.secrets.length = 0;
  world.neighbours.templates.length = 0;
  connectGithub(world, ann);
  await world.settle();
});

const refused = (code: ErrorCode, details: object = {}) =>
  expect.objectContaining({ code, details: expect.objectContaining(details) });
const gapOf = async (being: TestIdentity, call: Call, more: Partial<typeof options> = {}) =>
  world.gapIn(await world.decide(being, call, more));
const replay = (
  gap: Gap,
  resolver: TestIdentity,
  { decided = {}, ...more }: { decided?: Partial<DecisionStatement>; executionId?: string } = {},
) =>
  world.approvals.permitReplay(
    {
      gap: world.signGap(gap),
      decision: world.decision(gap, resolver, decided),
      executionId: newId(),
      cascade: null,
      ...more,
    },
    soon(),
  );
const service = () => {
  const [first] = world.neighbours.services;
  if (first === undefined) throw new Error('no service');
  return first;
};

describe('permitReplay', () => {
  test('signs a permit for the execution, with what was approved', async () => {
    const gap = await gapOf(bot, createIssue);
    const ids = { approvalId: newId(), executionId: newId() };
    const requestDigest = 'e'.repeat(64);
    const reply = await replay(gap, ann, {
      executionId: ids.executionId,
      decided: { approvalId: ids.approvalId, requestDigest },
    });

    expect(policy.endpoints.permitReplay.response.parse(reply)).toEqual(reply);
    if (reply.outcome !== 'permit') throw new Error('denied');
    const verifier = createVerifier('permit', world.environment.keys.PERMIT_KEY, permitSchema);
    const {
      jti,
      otherNames: _,
      ...permit
    } = { ...verifier.verify(reply.permit), otherNames: null };
    expect(jti).toBe(reply.auditId);
    expect(permit).toMatchObject({
      ...ids,
      requestDigest,
      dispatchId: gap.jti,
      identityId: bot.id,
      callDigest: gap.callDigest,
      keys: gap.keys,
      injections: gap.injections,
      target: gap.target,
      decision: { by: 'approval', rule_id: null, approval_id: ids.approvalId },
    });
  });

  test('is the same dispatch as whichever execution it is asked for', async () => {
    const gap = await gapOf(bot, createIssue);
    const verifier = createVerifier('permit', world.environment.keys.PERMIT_KEY, permitSchema);
    const dispatchId = async () => {
      const reply = await replay(gap, ann, { executionId: newId() });
      return reply.outcome === 'permit' && verifier.verify(reply.permit).dispatchId;
    };

    expect(await dispatchId()).toBe(gap.jti);
    expect(await dispatchId()).toBe(gap.jti);
  });

  test('dispatches by the idempotency key the call had', async () => {
    const gap = await gapOf(bot, createIssue, { idempotencyKey: 'key-1' });
    const verifier = createVerifier('permit', world.environment.keys.PERMIT_KEY, permitSchema);
    const reply = await replay(gap, ann);

    await world.rule(ann, bot, 'allow github:*:*');
    const direct = world.permitIn(
      await world.decide(bot, createIssue, { idempotencyKey: 'key-1' }),
    );
    expect(reply.outcome === 'permit' && verifier.verify(reply.permit).dispatchId).toBe(
      direct.dispatchId,
    );
  });

  test('a gap that policy did not sign is none', async () => {
    const signed = world.signGap(await gapOf(bot, createIssue));
    const forged = `${signed.slice(0, 40)}${signed[40] === 'A' ? 'B' : 'A'}${signed.slice(41)}`;

    const request = { decision: world.decision({} as Gap, ann), executionId: newId() };
    await expect(
      world.approvals.permitReplay({ gap: forged, cascade: null, ...request }, soon()),
    ).rejects.toEqual(refused('unauthenticated'));
  });

  test.for<[name: string, change: () => unknown, code: ErrorCode, details: object]>([
    ['the requester was archived', () => (bot.active = false), 'identity_archived', {}],
    ['its user was archived', () => (ann.active = false), 'identity_archived', {}],
    [
      'the service was disconnected',
      () => (world.neighbours.services.length = 0),
      'unknown_service',
      {},
    ],
    ['the service was disabled', () => (service().status = 'disabled'), 'unknown_service', {}],
    [
      'another service has its name',
      () => (service().id = newId()),
      'approval_stale',
      { changed: 'service' },
    ],
    [
      'the service moved',
      () => (service().baseUrl = `https://${host}/v2`),
      'approval_stale',
      { changed: 'service' },
    ],
    [
      'the service uses another template version',
      () => {
        const [template] = world.neighbours.templates;
        world.neighbours.templates.push({ ...template!, version: 2 });
        service().template = { ...service().template, version: 2 };
      },
      'approval_stale',
      { changed: 'template' },
    ],
    [
      'the service uses another secret',
      () => {
        world.neighbours.secrets.push({
          reference: 'other',
          orgId: ann.orgId,
          id: newId(),
          allowedHosts: [host],
        });
        service().secrets = { token: 'other' };
      },
      'approval_stale',
      { changed: 'credential' },
    ],
    [
      'the secret is another one of that name',
      () => (world.neighbours.secrets[0]!.id = newId()),
      'approval_stale',
      { changed: 'credential' },
    ],
    [
      'the secret may no longer go there',
      () => (world.neighbours.secrets[0]!.allowedHosts = ['other.example']),
      'approval_stale',
      { changed: 'credential' },
    ],
    [
      'the secret is gone',
      () => (world.neighbours.secrets.length = 0),
      'credential_missing',
      { secret: 'github_token' },
    ],
  ])('nothing is permitted when %s', async ([, change, code, details]) => {
    const gap = await gapOf(bot, createIssue);
    change();
    await world.settle();

    await expect(replay(gap, ann)).rejects.toEqual(refused(code, details));
    // Undone for the next test, which has its own everything else.
    Object.assign(bot, { active: true });
    Object.assign(ann, { active: true });
  });

  test('a disabled action is not permitted', async () => {
    const gap = await gapOf(bot, createIssue);
    const [template] = world.neighbours.templates;
    const disabled = { ...template!.actions['issues.create']!, disabled: true };
    // A compiled version never changes: this can only be met by a policy that has not seen it yet.
    template!.version = 7;
    template!.actions = { ...template!.actions, 'issues.create': disabled };
    service().template = { ...service().template, version: 7 };
    await world.settle();
    const target = { ...gap.target, template: service().template } as Gap['target'];

    const seen = { ...gap, target, templateDigest: templateDigest(template!) };
    await expect(replay(seen, ann)).rejects.toEqual(refused('action_disabled'));
  });

  describe('a deny rule made since', () => {
    test.for<[name: string, pattern: string, outcome: string]>([
      ['on the key', 'github:issues.create:site', 'denied'],
      ['on another argument', 'github:issues.create:other', 'permit'],
      ['by the name of another instance', 'hub:issues.create:site', 'denied'],
      ['by that name on another argument', 'hub:issues.create:other', 'permit'],
      ['by that name on another action', 'hub:issues.list:*', 'permit'],
    ])('%s', async ([, pattern, outcome]) => {
      const gap = await gapOf(bot, createIssue);
      connectGithub(world, ann, { name: 'hub' });
      await world.settle();
      await world.rule(ann, bot, `deny ${pattern}`);

      expect(await replay(gap, ann)).toMatchObject({ outcome });
    });

    test.for<[pattern: string, outcome: string]>([
      ['github:messages.post:C1', 'denied'],
      ['github:messages.post:C2', 'permit'],
    ])('%s on an argument that stood in the body', async ([pattern, outcome]) => {
      const call = httpCallOf({
        service: 'github',
        method: 'POST',
        target: '/messages',
        body: { channel: 'C1' },
      });
      const gap = await gapOf(bot, call);
      await world.rule(ann, bot, `deny ${pattern}`);

      expect(await replay(gap, ann)).toMatchObject({ outcome });
    });
  });

  describe('what was not in the gap', () => {
    const call = httpCallOf({ service: 'github', method: 'POST', target: '/x' });

    test('must still be allowed', async () => {
      const rule = await world.rule(ann, bot, `allow secret:github_token:${host}`);
      const gap = await gapOf(bot, call);
      expect(gap.uncoveredKeys).toEqual([`http:POST:${host}/x`]);
      expect(await replay(gap, ann)).toMatchObject({ outcome: 'permit' });
      await world.gateway.deleteRule({ principal: world.sign(ann), id: rule.id }, soon());

      await expect(replay(gap, ann)).rejects.toEqual(
        refused('approval_stale', { changed: 'permission' }),
      );
    });
  });

  describe('resolved by an agent', () => {
    test('whose authority covers the gap', async () => {
      await world.rule(ann, bot, 'allow github:issues.create:*');

      expect(await replay(await gapOf(sub, createIssue), bot)).toMatchObject({ outcome: 'permit' });
    });

    test('whose authority has ended', async () => {
      const rule = await world.rule(ann, bot, 'allow github:issues.create:*');
      const gap = await gapOf(sub, createIssue);
      await world.gateway.deleteRule({ principal: world.sign(ann), id: rule.id }, soon());

      await expect(replay(gap, bot)).rejects.toEqual(
        refused('approval_stale', { changed: 'resolver' }),
      );
      expect(await replay(gap, ann)).toMatchObject({ outcome: 'permit' });
    });

    test('by reads', async () => {
      expect(await replay(await gapOf(sub, listIssues), bot)).toMatchObject({ outcome: 'permit' });
    });

    test('that is not above the requester, or is nobody', async () => {
      const gap = await gapOf(sub, createIssue);
      const sibling = world.below(bot, 'sibling');
      await world.rule(ann, sibling, 'allow *:*:*');

      const nobody = { ...ann, id: newId() };
      for (const being of [sibling, sub, nobody]) {
        await expect(replay(gap, being)).rejects.toEqual(refused('unauthenticated'));
      }
    });

    test('an admin elsewhere in the org may, an archived one may not', async () => {
      const gap = await gapOf(sub, createIssue);
      const admin = world.user('root', { orgId: ann.orgId, role: 'admin' });
      expect(await replay(gap, admin)).toMatchObject({ outcome: 'permit' });
      admin.active = false;
      await world.settle();

      await expect(replay(gap, admin)).rejects.toEqual(
        refused('approval_stale', { changed: 'resolver' }),
      );
    });
  });
});

describe('checkAuthority', () => {
  const check = (gap: Gap, being: TestIdentity, keys: string[], orgId = being.orgId) =>
    world.approvals.checkAuthority(
      { orgId, identityId: being.id, gap: world.signGap(gap), keys },
      soon(),
    );
  const day = 24 * 60 * 60 * 1000;

  test("a user's has no limit", async () => {
    const gap = await gapOf(sub, createIssue);

    expect(await check(gap, ann, ['github:*:*'])).toEqual({
      covers: true,
      uncovered: [],
      untilMs: null,
    });
  });

  test('an agent covers keys and what broadens them as far as its rules do', async () => {
    await world.rule(ann, bot, 'allow github:issues.create:*');
    const gap = await gapOf(sub, createIssue);

    expect(await check(gap, bot, [...gap.uncoveredKeys, 'github:issues.create:*'])).toEqual({
      covers: true,
      uncovered: [],
      untilMs: null,
    });
    expect(await check(gap, bot, [...gap.uncoveredKeys, 'github:*:*'])).toEqual({
      covers: false,
      uncovered: ['github:*:*'],
      untilMs: null,
    });
  });

  test('no longer than the rule that holds it', async () => {
    const rule = await world.rule(ann, bot, 'allow github:issues.create:*');
    const until = new Date(Date.now() + 3_600_000);
    await world.db`update policy.rule set expires_at = ${until} where id = ${rule.id}`;
    const gap = await gapOf(sub, createIssue);
    const refreshed = await world.rule(ann, ann, 'allow unrelated:a:b');

    expect(refreshed).toBeDefined();
    expect((await check(gap, bot, gap.uncoveredKeys)).untilMs).toBe(until.getTime());
  });

  test('a day by reads, and no broader', async () => {
    const gap = await gapOf(sub, listIssues);
    const before = Date.now();
    const { covers, untilMs } = await check(gap, bot, gap.uncoveredKeys);

    expect(covers).toBe(true);
    expect(untilMs).toBeGreaterThanOrEqual(before + day);
    expect(untilMs).toBeLessThanOrEqual(Date.now() + day);
    expect((await check(gap, bot, ['github:*:*'])).covers).toBe(false);
  });

  test('nothing with what it, or one below it, has made itself', async () => {
    const gap = await gapOf(sub, createIssue);
    const own = await world.rule(ann, bot, 'allow github:*:*');
    const patterns = [{ pattern: 'github:*:*', exact: false }];
    await world.approvals.plantRules(rememberedBy(world, { on: bot, by: bot, patterns }), soon());
    await world.gateway.deleteRule({ principal: world.sign(ann), id: own.id }, soon());

    expect((await check(gap, bot, gap.uncoveredKeys)).covers).toBe(false);
  });

  test('nothing when archived, and not found in another org', async () => {
    await world.rule(ann, bot, 'allow github:*:*');
    const gap = await gapOf(sub, createIssue);
    bot.active = false;
    await world.settle();

    expect((await check(gap, bot, gap.uncoveredKeys)).covers).toBe(false);
    await expect(check(gap, bot, gap.uncoveredKeys, newId())).rejects.toEqual(refused('not_found'));
    await expect(check(gap, { ...bot, id: newId() }, gap.uncoveredKeys)).rejects.toEqual(
      refused('not_found'),
    );
  });
});

describe('explain', () => {
  const explain = (being: TestIdentity, call: Call, as: TestIdentity | null = null) =>
    world.gateway.explain(
      { principal: world.sign(being), call, options, asIdentityId: as?.id ?? null },
      soon(),
    );
  const counts = async () => {
    const [row] = await world.db<{ rules: number; events: number }[]>`
      select (select count(*)::int from policy.rule) as rules,
             (select count(*)::int from policy.outbox) as events
    `;
    return row;
  };

  test('a gap names who could close it, and leaves no trace', async () => {
    await world.rule(ann, bot, 'allow github:issues.create:*');
    const before = await counts();
    const reply = await explain(sub, createIssue);

    expect(reply).toEqual({
      outcome: 'would_require_approval',
      why: [{ key: 'github:issues.create:site', effect: 'gap' }],
      permission_keys: ['github:issues.create:site'],
      uncovered_keys: ['github:issues.create:site'],
      grantors: [
        { id: bot.id, kind: 'agent', name: 'bot' },
        { id: ann.id, kind: 'user', name: 'ann' },
      ],
      risk: 'write',
      action_description: 'Create issue Broken in site',
      request: {
        method: 'GET',
        url: 'https://shown.example/issues.create',
        headers: {},
        params: {},
        content_type: null,
        body: null,
        credentials: [],
      },
    });
    expect(await counts()).toEqual(before);
    expect(world.neighbours.dryRuns.at(-1)).toEqual({ isAskedAbout: true });
  });

  test('what is allowed says why', async () => {
    const rule = await world.rule(ann, bot, 'allow github:issues.create:*');

    expect((await explain(bot, createIssue)).why).toEqual([
      {
        key: 'github:issues.create:site',
        effect: 'allow',
        by: 'rule',
        rule_id: rule.id,
        identity_id: bot.id,
      },
    ]);
    expect(await explain(bot, listIssues)).toMatchObject({
      outcome: 'allowed',
      why: [{ effect: 'allow', by: 'read' }],
      grantors: [],
    });
    expect((await explain(ann, createIssue)).why).toMatchObject([{ effect: 'allow', by: 'user' }]);
  });

  test('what is denied names the rule', async () => {
    const rule = await world.rule(ann, ann, 'deny github:*:*');

    expect(await explain(bot, createIssue)).toMatchObject({
      outcome: 'denied',
      why: [{ effect: 'deny', by: 'rule', rule_id: rule.id, identity_id: ann.id }],
      uncovered_keys: [],
    });
    // The call itself would be refused before anybody is shown it.
    expect(world.neighbours.dryRuns.at(-1)).toEqual({ isAskedAbout: false });
  });

  test('a user asks for identities of its own, an admin for all, nobody else', async () => {
    const bob = world.user('bob', { orgId: ann.orgId });
    const admin = world.user('root', { orgId: ann.orgId, role: 'admin' });

    expect(await explain(ann, createIssue, bot)).toMatchObject({
      outcome: 'would_require_approval',
    });
    expect(await explain(ann, listIssues, sub)).toMatchObject({
      outcome: 'would_require_approval',
    });
    expect(await explain(bot, listIssues, sub)).toMatchObject({
      outcome: 'would_require_approval',
    });
    expect(await explain(admin, createIssue, bot)).toMatchObject({
      outcome: 'would_require_approval',
    });
    await expect(explain(bob, createIssue, bot)).rejects.toEqual(refused('not_found'));
    await expect(explain(bot, createIssue, ann)).rejects.toEqual(refused('not_found'));
    await expect(explain(ann, createIssue, { ...bot, id: newId() })).rejects.toEqual(
      refused('not_found'),
    );
  });

  test('a call that cannot work is refused like the call itself', async () => {
    await expect(explain(bot, { ...createIssue, params: {} })).rejects.toEqual(
      refused('invalid_params'),
    );
    await expect(explain(world.user('eve', { role: 'auditor' }), createIssue)).rejects.toEqual(
      refused('forbidden'),
    );
  });
});
