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
import { signPlanting } from './planting.testing.ts';

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

const refusalWith = (code: ErrorCode, details: object = {}) =>
  expect.objectContaining({ code, details: expect.objectContaining(details) });
const gapOf = async (identity: TestIdentity, call: Call, more: Partial<typeof callOptions> = {}) =>
  world.gapIn(await world.decide(identity, call, more));
const replayBy = (
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
    testDeadline(),
  );
const connectedService = () => {
  const [first] = world.neighbours.services;
  if (first === undefined) throw new Error('no service');
  return first;
};

describe('the replay of an approved call (permitReplay)', () => {
  test('gets a permit for its execution that contains what was approved', async () => {
    const gap = await gapOf(bot, createIssue);
    const ids = { approvalId: newId(), executionId: newId() };
    const requestDigest = 'e'.repeat(64);
    const reply = await replayBy(gap, ann, {
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

  test('uses the same dispatch row for every execution id, so that the call is sent once', async () => {
    const gap = await gapOf(bot, createIssue);
    const verifier = createVerifier('permit', world.environment.keys.PERMIT_KEY, permitSchema);
    const replayDispatchId = async () => {
      const reply = await replayBy(gap, ann, { executionId: newId() });
      return reply.outcome === 'permit' && verifier.verify(reply.permit).dispatchId;
    };

    expect(await replayDispatchId()).toBe(gap.jti);
    expect(await replayDispatchId()).toBe(gap.jti);
  });

  test("has the dispatch id of the call's idempotency key", async () => {
    const gap = await gapOf(bot, createIssue, { idempotencyKey: 'key-1' });
    const verifier = createVerifier('permit', world.environment.keys.PERMIT_KEY, permitSchema);
    const reply = await replayBy(gap, ann);

    await world.rule(ann, bot, 'allow github:*:*');
    const direct = world.permitIn(
      await world.decide(bot, createIssue, { idempotencyKey: 'key-1' }),
    );
    expect(reply.outcome === 'permit' && verifier.verify(reply.permit).dispatchId).toBe(
      direct.dispatchId,
    );
  });

  test('is refused for a permission gap that policy did not sign', async () => {
    const signed = world.signGap(await gapOf(bot, createIssue));
    const forgedGap = `${signed.slice(0, 40)}${signed[40] === 'A' ? 'B' : 'A'}${signed.slice(41)}`;

    const request = { decision: world.decision({} as Gap, ann), executionId: newId() };
    await expect(
      world.approvals.permitReplay({ gap: forgedGap, cascade: null, ...request }, testDeadline()),
    ).rejects.toEqual(refusalWith('unauthenticated'));
  });

  test.for<[name: string, change: () => unknown, code: ErrorCode, details: object]>([
    ['the requester was archived', () => (bot.active = false), 'identity_archived', {}],
    ["the requester's user was archived", () => (ann.active = false), 'identity_archived', {}],
    [
      'the service was disconnected',
      () => (world.neighbours.services.length = 0),
      'unknown_service',
      {},
    ],
    [
      'the service was disabled',
      () => (connectedService().status = 'disabled'),
      'unknown_service',
      {},
    ],
    [
      'another service has its name',
      () => (connectedService().id = newId()),
      'approval_stale',
      { changed: 'service' },
    ],
    [
      'the service has another base URL',
      () => (connectedService().baseUrl = `https://${host}/v2`),
      'approval_stale',
      { changed: 'service' },
    ],
    [
      'the service uses another template version',
      () => {
        const [template] = world.neighbours.templates;
        world.neighbours.templates.push({ ...template!, version: 2 });
        connectedService().template = { ...connectedService().template, version: 2 };
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
        connectedService().secrets = { token: 'other' };
      },
      'approval_stale',
      { changed: 'credential' },
    ],
    [
      'the secret was replaced by another secret of the same name',
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
  ])('is refused when %s', async ([, change, code, details]) => {
    const gap = await gapOf(bot, createIssue);
    change();
    await world.settle();

    await expect(replayBy(gap, ann)).rejects.toEqual(refusalWith(code, details));
    // Tests share only this state, so it is restored here.
    Object.assign(bot, { active: true });
    Object.assign(ann, { active: true });
  });

  test('is refused when the action was disabled', async () => {
    const gap = await gapOf(bot, createIssue);
    const [template] = world.neighbours.templates;
    const disabled = { ...template!.actions['issues.create']!, disabled: true };
    // The content of a template version never changes, so only a policy replica that has not cached
    // the version can see this change.
    template!.version = 7;
    template!.actions = { ...template!.actions, 'issues.create': disabled };
    connectedService().template = { ...connectedService().template, version: 7 };
    await world.settle();
    const target = { ...gap.target, template: connectedService().template } as Gap['target'];

    const seenGap = { ...gap, target, templateDigest: templateDigest(template!) };
    await expect(replayBy(seenGap, ann)).rejects.toEqual(refusalWith('action_disabled'));
  });

  describe('the replay of an approved call, when a deny rule was made after the approval,', () => {
    test.for<[name: string, pattern: string, outcome: string]>([
      ['is refused if the rule matches the key of the call', 'github:issues.create:site', 'denied'],
      ['is permitted if the rule is for another argument', 'github:issues.create:other', 'permit'],
      [
        'is permitted if the rule names another service of the same template',
        'hub:issues.create:site',
        'permit',
      ],
    ])('%s', async ([, pattern, outcome]) => {
      const gap = await gapOf(bot, createIssue);
      connectGithub(world, ann, { name: 'hub' });
      await world.settle();
      await world.rule(ann, bot, `deny ${pattern}`);

      expect(await replayBy(gap, ann)).toMatchObject({ outcome });
    });

    test.for<[pattern: string, outcome: string]>([
      ['github:messages.post:C2', 'denied'],
      ['github:issues.list:*', 'permit'],
    ])(
      'on the action that the call by method and path is, with any argument: %s gives the outcome %s',
      async ([pattern, outcome]) => {
        const call = httpCallOf({
          service: 'github',
          method: 'POST',
          target: '/messages',
          body: { channel: 'C1' },
        });
        const gap = await gapOf(bot, call);
        await world.rule(ann, bot, `deny ${pattern}`);

        expect(await replayBy(gap, ann)).toMatchObject({ outcome });
      },
    );
  });

  describe('the replay of an approved call of which a rule covered one permission key', () => {
    const call = httpCallOf({ service: 'github', method: 'POST', target: '/x' });

    test('is refused when that rule has been deleted', async () => {
      const rule = await world.rule(ann, bot, `allow secret:github_token:${host}`);
      const gap = await gapOf(bot, call);
      expect(gap.uncoveredKeys).toEqual([`http:POST:${host}/x`]);
      expect(await replayBy(gap, ann)).toMatchObject({ outcome: 'permit' });
      await world.gateway.deleteRule({ principal: world.sign(ann), id: rule.id }, testDeadline());

      await expect(replayBy(gap, ann)).rejects.toEqual(
        refusalWith('approval_stale', { changed: 'permission' }),
      );
    });
  });

  describe('the replay of a call that an agent approved', () => {
    test("is permitted while the agent's authority covers the gap", async () => {
      await world.rule(ann, bot, 'allow github:issues.create:*');

      expect(await replayBy(await gapOf(sub, createIssue), bot)).toMatchObject({
        outcome: 'permit',
      });
    });

    test("is refused when the agent's authority has ended", async () => {
      const rule = await world.rule(ann, bot, 'allow github:issues.create:*');
      const gap = await gapOf(sub, createIssue);
      await world.gateway.deleteRule({ principal: world.sign(ann), id: rule.id }, testDeadline());

      await expect(replayBy(gap, bot)).rejects.toEqual(
        refusalWith('approval_stale', { changed: 'resolver' }),
      );
      expect(await replayBy(gap, ann)).toMatchObject({ outcome: 'permit' });
    });

    test('is permitted when the agent may read without approval and the gap contains only reads', async () => {
      expect(await replayBy(await gapOf(sub, listIssues), bot)).toMatchObject({
        outcome: 'permit',
      });
    });

    test('is refused when the decider is not an ancestor or does not exist', async () => {
      const gap = await gapOf(sub, createIssue);
      const sibling = world.below(bot, 'sibling');
      await world.rule(ann, sibling, 'allow *:*:*');

      const unknownUser = { ...ann, id: newId() };
      for (const identity of [sibling, sub, unknownUser]) {
        await expect(replayBy(gap, identity)).rejects.toEqual(refusalWith('unauthenticated'));
      }
    });

    test('is permitted when the decider is an admin of the org, and refused when that admin is archived', async () => {
      const gap = await gapOf(sub, createIssue);
      const admin = world.user('root', { orgId: ann.orgId, role: 'admin' });
      expect(await replayBy(gap, admin)).toMatchObject({ outcome: 'permit' });
      admin.active = false;
      await world.settle();

      await expect(replayBy(gap, admin)).rejects.toEqual(
        refusalWith('approval_stale', { changed: 'resolver' }),
      );
    });
  });
});

describe('the check of what an identity may allow others to do (checkAuthority)', () => {
  const checkAuthorityOf = (
    gap: Gap,
    identity: TestIdentity,
    keys: string[],
    orgId = identity.orgId,
  ) =>
    world.approvals.checkAuthority(
      { orgId, identityId: identity.id, gap: world.signGap(gap), keys },
      testDeadline(),
    );
  const dayMs = 24 * 60 * 60 * 1000;

  test('covers everything for a user, without an expiry', async () => {
    const gap = await gapOf(sub, createIssue);

    expect(await checkAuthorityOf(gap, ann, ['github:*:*'])).toEqual({
      covers: true,
      uncovered: [],
      untilMs: null,
    });
  });

  test("covers a permission key, and a pattern broader than it, exactly when the agent's rules cover them", async () => {
    await world.rule(ann, bot, 'allow github:issues.create:*');
    const gap = await gapOf(sub, createIssue);

    expect(
      await checkAuthorityOf(gap, bot, [...gap.uncoveredKeys, 'github:issues.create:*']),
    ).toEqual({
      covers: true,
      uncovered: [],
      untilMs: null,
    });
    expect(await checkAuthorityOf(gap, bot, [...gap.uncoveredKeys, 'github:*:*'])).toEqual({
      covers: false,
      uncovered: ['github:*:*'],
      untilMs: null,
    });
  });

  test('returns when the rule that covers the permission key expires', async () => {
    const rule = await world.rule(ann, bot, 'allow github:issues.create:*');
    const until = new Date(Date.now() + 3_600_000);
    await world.db`update policy.rule set expires_at = ${until} where id = ${rule.id}`;
    const gap = await gapOf(sub, createIssue);
    const refreshed = await world.rule(ann, ann, 'allow unrelated:a:b');

    expect(refreshed).toBeDefined();
    expect((await checkAuthorityOf(gap, bot, gap.uncoveredKeys)).untilMs).toBe(until.getTime());
  });

  test('covers a read by the read allowance for one day, but no broader pattern', async () => {
    const gap = await gapOf(sub, listIssues);
    const before = Date.now();
    const { covers, untilMs } = await checkAuthorityOf(gap, bot, gap.uncoveredKeys);

    expect(covers).toBe(true);
    expect(untilMs).toBeGreaterThanOrEqual(before + dayMs);
    expect(untilMs).toBeLessThanOrEqual(Date.now() + dayMs);
    expect((await checkAuthorityOf(gap, bot, ['github:*:*'])).covers).toBe(false);
  });

  test('ignores rules made by the agent or its descendants', async () => {
    const gap = await gapOf(sub, createIssue);
    const ownRule = await world.rule(ann, bot, 'allow github:*:*');
    const patterns = [{ pattern: 'github:*:*', exact: false }];
    await world.approvals.plantRules(
      signPlanting(world, { on: bot, by: bot, patterns }),
      testDeadline(),
    );
    await world.gateway.deleteRule({ principal: world.sign(ann), id: ownRule.id }, testDeadline());

    expect((await checkAuthorityOf(gap, bot, gap.uncoveredKeys)).covers).toBe(false);
  });

  test('covers nothing for an archived identity, and throws not_found in another org', async () => {
    await world.rule(ann, bot, 'allow github:*:*');
    const gap = await gapOf(sub, createIssue);
    bot.active = false;
    await world.settle();

    expect((await checkAuthorityOf(gap, bot, gap.uncoveredKeys)).covers).toBe(false);
    await expect(checkAuthorityOf(gap, bot, gap.uncoveredKeys, newId())).rejects.toEqual(
      refusalWith('not_found'),
    );
    await expect(checkAuthorityOf(gap, { ...bot, id: newId() }, gap.uncoveredKeys)).rejects.toEqual(
      refusalWith('not_found'),
    );
  });
});

describe('explain (a dry run)', () => {
  const explainAs = (identity: TestIdentity, call: Call, as: TestIdentity | null = null) =>
    world.gateway.explain(
      { principal: world.sign(identity), call, options: callOptions, asIdentityId: as?.id ?? null },
      testDeadline(),
    );
  const countRulesAndEvents = async () => {
    const [row] = await world.db<{ rules: number; events: number }[]>`
      select (select count(*)::int from policy.rule) as rules,
             (select count(*)::int from policy.outbox) as events
    `;
    return row;
  };

  test('shows who could allow a call that no rule covers, and stores nothing', async () => {
    await world.rule(ann, bot, 'allow github:issues.create:*');
    const before = await countRulesAndEvents();
    const reply = await explainAs(sub, createIssue);

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
    expect(await countRulesAndEvents()).toEqual(before);
    expect(world.neighbours.dryRuns.at(-1)).toEqual({ isAskedAbout: true });
  });

  test('shows which rule allows a call', async () => {
    const rule = await world.rule(ann, bot, 'allow github:issues.create:*');

    expect((await explainAs(bot, createIssue)).why).toEqual([
      {
        key: 'github:issues.create:site',
        effect: 'allow',
        by: 'rule',
        rule_id: rule.id,
        identity_id: bot.id,
      },
    ]);
    expect(await explainAs(bot, listIssues)).toMatchObject({
      outcome: 'allowed',
      why: [{ effect: 'allow', by: 'read' }],
      grantors: [],
    });
    expect((await explainAs(ann, createIssue)).why).toMatchObject([
      { effect: 'allow', by: 'user' },
    ]);
  });

  test('names the rule that denies a call', async () => {
    const rule = await world.rule(ann, ann, 'deny github:*:*');

    expect(await explainAs(bot, createIssue)).toMatchObject({
      outcome: 'denied',
      reason: 'A deny rule of user ann (github:*:*) refuses github:issues.create:site.',
      why: [{ effect: 'deny', by: 'rule', rule_id: rule.id, identity_id: ann.id }],
      uncovered_keys: [],
    });
    // The dry run does not report that a person would be asked, because the deny rule would refuse
    // the call first.
    expect(world.neighbours.dryRuns.at(-1)).toEqual({ isAskedAbout: false });
  });

  test("may be requested for the user's own identities, and by admins for every identity of the org", async () => {
    const bob = world.user('bob', { orgId: ann.orgId });
    const admin = world.user('root', { orgId: ann.orgId, role: 'admin' });

    expect(await explainAs(ann, createIssue, bot)).toMatchObject({
      outcome: 'would_require_approval',
    });
    expect(await explainAs(ann, listIssues, sub)).toMatchObject({
      outcome: 'would_require_approval',
    });
    expect(await explainAs(bot, listIssues, sub)).toMatchObject({
      outcome: 'would_require_approval',
    });
    expect(await explainAs(admin, createIssue, bot)).toMatchObject({
      outcome: 'would_require_approval',
    });
    await expect(explainAs(bob, createIssue, bot)).rejects.toEqual(refusalWith('not_found'));
    await expect(explainAs(bot, createIssue, ann)).rejects.toEqual(refusalWith('not_found'));
    await expect(explainAs(ann, createIssue, { ...bot, id: newId() })).rejects.toEqual(
      refusalWith('not_found'),
    );
  });

  test('fails for a call that cannot work, with the same error as the call itself', async () => {
    await expect(explainAs(bot, { ...createIssue, params: {} })).rejects.toEqual(
      refusalWith('invalid_params'),
    );
    await expect(explainAs(world.user('eve', { role: 'auditor' }), createIssue)).rejects.toEqual(
      refusalWith('forbidden'),
    );
  });
});
