import { v7 as newId } from 'uuid';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';

import type { Gap } from '#contracts/permit';
import { rememberedBy } from './planting.testing.ts';
import { connectGithub, createIssue, createPolicyWorld, soon } from './world.testing.ts';
import type { TestIdentity, PolicyWorld } from './world.testing.ts';

let world: PolicyWorld;
let ann: TestIdentity;
let bot: TestIdentity;
let other: TestIdentity;
let heir: TestIdentity;
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
  other = world.below(ann, 'other', { selfApproving: ['editor'] });
  heir = world.below(bot, 'heir', { inheritPermissions: true });
  sub = world.below(bot, 'sub');
  world.neighbours.services.length = 0;
  world.neighbours.secrets.length = 0;
  world.neighbours.templates.length = 0;
  connectGithub(world, ann);
  await world.settle();
});

const patterns = [{ pattern: 'github:issues.create:*', exact: false }];
/** As its own decision by the client `editor`, unless another made it. */
const plant = (on: TestIdentity, by: TestIdentity = on) => {
  const self = by === on ? { selfClientId: 'editor' } : {};
  return world.approvals.plantRules(rememberedBy(world, { on, by, patterns, ...self }), soon());
};
const outcome = async (being: TestIdentity) => (await world.decide(being, createIssue)).outcome;
const gapOf = async (being: TestIdentity) => world.gapIn(await world.decide(being, createIssue));
/** As auth announces it: the connection alone, no identity. */
const turn = async (
  being: TestIdentity,
  isOn: boolean,
  subject = 'evt.auth.mcp_connection.changed',
) => {
  being.selfApproving = isOn ? ['editor'] : [];
  const { nats } = await world.bus('auth');
  nats.publish(subject, '{}');
  await nats.flush();
  await world.gateway.ping({}, soon());
};

describe('a rule made by self-approval', () => {
  test.for(['evt.auth.mcp_connection.changed', 'evt.auth.oauth_client.revoked'])(
    'counts while the switch is on, and no longer once %s says so',
    async (subject) => {
      await plant(bot);
      expect(await outcome(bot)).toBe('permit');

      await turn(bot, false, subject);
      expect(await outcome(bot)).toBe('gap');
      await turn(bot, true, subject);
      expect(await outcome(bot)).toBe('permit');
    },
  );

  test("does not count by another client's switch, another agent's, or that of one below", async () => {
    await turn(bot, false);
    bot.selfApproving = ['terminal'];
    await world.settle();
    heir.selfApproving = ['editor'];
    await plant(bot);

    expect(await outcome(bot)).toBe('gap');
    expect(await outcome(heir)).toBe('gap');
    expect(await outcome(other)).toBe('gap');
  });

  test('reaches who inherits, as any rule of the agent, and is handed on no longer than it counts', async () => {
    await plant(bot);
    const gap = await gapOf(sub);
    const check = () =>
      world.approvals.checkAuthority(
        {
          orgId: bot.orgId,
          identityId: bot.id,
          gap: world.signGap(gap),
          keys: gap.uncoveredKeys,
        },
        soon(),
      );

    expect(await outcome(heir)).toBe('permit');
    expect(await check()).toMatchObject({ covers: true, untilMs: expect.any(Number) });
    await plant(sub, bot);
    expect(await outcome(sub)).toBe('permit');

    await turn(bot, false);
    expect(await outcome(heir)).toBe('gap');
    expect(await outcome(sub)).toBe('gap');
    expect(await check()).toMatchObject({ covers: false });
  });

  test('loses to a deny rule like any other', async () => {
    await plant(bot);
    await world.rule(ann, bot, 'deny github:issues.create:*');

    expect(await outcome(bot)).toBe('denied');
  });
});

describe('the replay of what a requester allowed itself', () => {
  const replay = (gap: Gap, resolver: TestIdentity) =>
    world.approvals.permitReplay(
      {
        gap: world.signGap(gap),
        executionId: newId(),
        cascade: null,
        decision: world.decision(gap, resolver, { as: 'self', clientId: 'editor' }),
      },
      soon(),
    );

  test('is permitted while the switch is on', async () => {
    expect((await replay(await gapOf(bot), bot)).outcome).toBe('permit');
  });

  test('is stale as soon as its own is off, before any event says so, another’s on or not', async () => {
    const gap = await gapOf(bot);
    bot.selfApproving = ['terminal'];

    await expect(replay(gap, bot)).rejects.toMatchObject({
      code: 'approval_stale',
      details: { changed: 'resolver' },
    });
  });

  test('is nobody else’s: not its parent’s, its user’s, nor that of another with the switch', async () => {
    const gap = await gapOf(sub);
    sub.selfApproving = ['editor'];
    for (const being of [bot, ann, other]) {
      await expect(replay(gap, being)).rejects.toMatchObject({ code: 'unauthenticated' });
    }
  });

  test('still gives way to a deny rule, and to an archived user', async () => {
    const gap = await gapOf(bot);
    await world.rule(ann, bot, 'deny github:*:*');
    expect((await replay(gap, bot)).outcome).toBe('denied');

    const second = await gapOf(other);
    ann.active = false;
    await world.settle();
    await expect(replay(second, other)).rejects.toMatchObject({ code: 'identity_archived' });
  });
});
