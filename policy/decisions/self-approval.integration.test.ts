import { v7 as newId } from 'uuid';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';

import type { Gap } from '#contracts/permit';
import { connectGithub, createIssue, createPolicyWorld, testDeadline } from '../world.testing.ts';
import type { TestIdentity, PolicyWorld } from '../world.testing.ts';
import { signPlanting } from './planting.testing.ts';

let world: PolicyWorld;
let ann: TestIdentity;
let bot: TestIdentity;
let otherAgent: TestIdentity;
let inheritingSub: TestIdentity;
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
  bot = world.below(ann, 'bot', { selfApproving: ['editor'] });
  otherAgent = world.below(ann, 'other', { selfApproving: ['editor'] });
  inheritingSub = world.below(bot, 'heir', { inheritPermissions: true });
  sub = world.below(bot, 'sub');
  world.neighbours.services.length = 0;
  world.neighbours.secrets.length = 0;
  world.neighbours.templates.length = 0;
  connectGithub(world, ann);
  await world.settle();
});

const patterns = [{ pattern: 'github:issues.create:*', exact: false }];
/**
 * Creates rules by a self-approval through the client `editor`, unless another identity decides.
 */
const plantRulesOn = (on: TestIdentity, by: TestIdentity = on) => {
  const selfApprovalFields = by === on ? { selfClientId: 'editor' } : {};
  return world.approvals.plantRules(
    signPlanting(world, { on, by, patterns, ...selfApprovalFields }),
    testDeadline(),
  );
};
const decideOutcome = async (identity: TestIdentity) =>
  (await world.decide(identity, createIssue)).outcome;
const gapOf = async (identity: TestIdentity) =>
  world.gapIn(await world.decide(identity, createIssue));
/**
 * Announces that self-approval was switched on or off. As in auth, the event names the connection
 * and no identity.
 */
const switchSelfApproval = async (
  identity: TestIdentity,
  isOn: boolean,
  subject = 'evt.auth.mcp_connection.changed',
) => {
  identity.selfApproving = isOn ? ['editor'] : [];
  const { nats } = await world.bus('auth');
  nats.publish(subject, '{}');
  await nats.flush();
  await world.gateway.ping({}, testDeadline());
};

describe('a rule made by self-approval', () => {
  test.for(['evt.auth.mcp_connection.changed', 'evt.auth.oauth_client.revoked'])(
    'counts until the event %s announces that self-approval is switched off',
    async (subject) => {
      await plantRulesOn(bot);
      expect(await decideOutcome(bot)).toBe('permit');

      await switchSelfApproval(bot, false, subject);
      expect(await decideOutcome(bot)).toBe('gap');
      await switchSelfApproval(bot, true, subject);
      expect(await decideOutcome(bot)).toBe('permit');
    },
  );

  test('does not count when self-approval is on only for another client, another agent or a descendant', async () => {
    await switchSelfApproval(bot, false);
    bot.selfApproving = ['terminal'];
    await world.settle();
    inheritingSub.selfApproving = ['editor'];
    await plantRulesOn(bot);

    expect(await decideOutcome(bot)).toBe('gap');
    expect(await decideOutcome(inheritingSub)).toBe('gap');
    expect(await decideOutcome(otherAgent)).toBe('gap');
  });

  test('also covers descendants that inherit and, only while it counts, gives authority to rules that they make', async () => {
    await plantRulesOn(bot);
    const gap = await gapOf(sub);
    const checkAuthorityOf = () =>
      world.approvals.checkAuthority(
        {
          orgId: bot.orgId,
          identityId: bot.id,
          gap: world.signGap(gap),
          keys: gap.uncoveredKeys,
        },
        testDeadline(),
      );

    expect(await decideOutcome(inheritingSub)).toBe('permit');
    expect(await checkAuthorityOf()).toMatchObject({ covers: true, untilMs: expect.any(Number) });
    await plantRulesOn(sub, bot);
    expect(await decideOutcome(sub)).toBe('permit');

    await switchSelfApproval(bot, false);
    expect(await decideOutcome(inheritingSub)).toBe('gap');
    expect(await decideOutcome(sub)).toBe('gap');
    expect(await checkAuthorityOf()).toMatchObject({ covers: false });
  });

  test('is overruled by a deny rule like any other allow rule', async () => {
    await plantRulesOn(bot);
    await world.rule(ann, bot, 'deny github:issues.create:*');

    expect(await decideOutcome(bot)).toBe('denied');
  });
});

describe('the replay of a self-approved call', () => {
  const replayAs = (gap: Gap, resolver: TestIdentity) =>
    world.approvals.permitReplay(
      {
        gap: world.signGap(gap),
        executionId: newId(),
        cascade: null,
        decision: world.decision(gap, resolver, { as: 'self', clientId: 'editor' }),
      },
      testDeadline(),
    );

  test('is permitted while self-approval is on', async () => {
    expect((await replayAs(await gapOf(bot), bot)).outcome).toBe('permit');
  });

  test('is refused as soon as self-approval is off for its client, even before the event arrives and even if it is on for other clients', async () => {
    const gap = await gapOf(bot);
    bot.selfApproving = ['terminal'];

    await expect(replayAs(gap, bot)).rejects.toMatchObject({
      code: 'approval_stale',
      details: { changed: 'resolver' },
    });
  });

  test('is refused when the parent, the user or another agent with self-approval made the decision', async () => {
    const gap = await gapOf(sub);
    sub.selfApproving = ['editor'];
    for (const identity of [bot, ann, otherAgent]) {
      await expect(replayAs(gap, identity)).rejects.toMatchObject({ code: 'unauthenticated' });
    }
  });

  test('is refused by a deny rule, and when the user is archived', async () => {
    const gap = await gapOf(bot);
    await world.rule(ann, bot, 'deny github:*:*');
    expect((await replayAs(gap, bot)).outcome).toBe('denied');

    const second = await gapOf(otherAgent);
    ann.active = false;
    await world.settle();
    await expect(replayAs(second, otherAgent)).rejects.toMatchObject({ code: 'identity_archived' });
  });
});
