import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';

import {
  callOptions,
  connectGithub,
  createIssue,
  createPolicyWorld,
  testDeadline,
} from '../world.testing.ts';
import type { PolicyWorld, TestIdentity } from '../world.testing.ts';

const key = 'github:issues.create:site';
let world: PolicyWorld;
let ann: TestIdentity;

beforeAll(async () => {
  world = await createPolicyWorld();
});
beforeEach(async () => {
  ann = world.user('ann');
  connectGithub(world, ann);
  await world.settle();
});
afterAll(() => world[Symbol.asyncDispose]());

const suspend = async (identity: TestIdentity) =>
  world.gapIn(await world.decide(identity, createIssue));
const explain = async (gap: string, orgId = ann.orgId) => {
  await world.settle();
  return world.approvals.explainGap({ orgId, gap }, testDeadline());
};

describe('the explanation of a suspended call (explainGap)', () => {
  test('follows the current rules: first none, then an allow rule, then a deny rule', async () => {
    const bot = world.below(ann, 'bot');
    const gap = world.signGap(await suspend(bot));
    expect(await explain(gap)).toEqual({ why: [{ key, effect: 'gap' }] });

    const allow = await world.rule(ann, bot, 'allow github:issues.create:*');
    const byRule = { key, by: 'rule', identity_id: bot.id };
    expect(await explain(gap)).toEqual({
      why: [{ ...byRule, effect: 'allow', rule_id: allow.id }],
    });

    const deny = await world.rule(ann, bot, `deny ${key}`);
    expect(await explain(gap)).toEqual({ why: [{ ...byRule, effect: 'deny', rule_id: deny.id }] });
  });

  test('says the same as a dry run of the same call', async () => {
    const bot = world.below(ann, 'bot');
    const gap = world.signGap(await suspend(bot));
    await world.rule(ann, ann, 'allow github:issues.create:si*');
    const dryRun = await world.gateway.explain(
      {
        principal: world.sign(bot),
        call: createIssue,
        options: callOptions,
        asIdentityId: null,
      },
      testDeadline(),
    );

    expect(dryRun.why).toMatchObject([{ effect: 'allow', identity_id: ann.id }]);
    expect((await explain(gap)).why).toEqual(dryRun.why);
  });

  test.for<[name: string, code: string, spoil: (gap: string) => [gap: string, orgId?: string]]>([
    ['a gap of another org', 'not_found', (gap) => [gap, crypto.randomUUID()]],
    ['a gap that policy did not sign', 'unauthenticated', (gap) => [`e30${gap.slice(3)}`]],
  ])('is refused for %s', async ([, code, spoil]) => {
    const gap = world.signGap(await suspend(world.below(ann, 'bot')));
    await expect(explain(...spoil(gap))).rejects.toMatchObject({ code });
  });

  test('is refused while the requester is archived, because the requester can call nothing', async () => {
    const bot = world.below(ann, 'bot');
    const gap = world.signGap(await suspend(bot));
    bot.active = false;
    await expect(explain(gap)).rejects.toMatchObject({ code: 'identity_archived' });
  });
});
