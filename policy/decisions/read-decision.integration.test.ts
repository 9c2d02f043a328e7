import { v7 as newId } from 'uuid';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';

import type { DecisionStatement } from '#contracts/decision';
import type { Gap } from '#contracts/permit';
import { createPublicSigner, createSigner } from '#signing';
import { createDecisions } from '../../test/support/decisions.ts';
import { connectGithub, createIssue, createPolicyWorld, testDeadline } from '../world.testing.ts';
import type { TestIdentity, PolicyWorld } from '../world.testing.ts';

// These tests act as an attacker who controls approvals: the attacker has its connection to the
// bus, its keys, and every permission gap and decision that it ever received.

let world: PolicyWorld;
let ann: TestIdentity;
let bot: TestIdentity;
let sub: TestIdentity;

beforeAll(async () => {
  world = await createPolicyWorld();
});
afterAll(() => world[Symbol.asyncDispose]());
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

const minuteMs = 60_000;
const to = (repo: string) => ({
  ...createIssue,
  params: { owner: 'acme', repo, title: 'Bug' },
});
const gapOf = async (identity: TestIdentity, call = to('site')) =>
  world.gapIn(await world.decide(identity, call));
/** A decision to remember the broadest suggested rule (tier) of the permission gap. */
const rememberFields = (gap: Gap, more: Partial<DecisionStatement> = {}) => ({
  resolution: 'allow_remember' as const,
  patterns: gap.suggestedTiers.at(-1)?.keys ?? [],
  cascade: true,
  ...more,
});
const refusalWith = (code: string) => expect.objectContaining({ code });

interface SignedClaim {
  readonly gap: string;
  readonly decision: string;
}
const replayClaim = (
  claim: SignedClaim,
  cascade: { approvalId: string; decidedGap: string } | null = null,
) => world.approvals.permitReplay({ ...claim, executionId: newId(), cascade }, testDeadline());
const plantClaim = (claim: SignedClaim) => world.approvals.plantRules(claim, testDeadline());
const decideOutcome = async (identity: TestIdentity, call = to('site')) =>
  (await world.decide(identity, call)).outcome;

/** Expects that both permitReplay and plantRules refuse. */
async function expectRefusedClaim(claim: SignedClaim, code = 'unauthenticated'): Promise<void> {
  await expect(replayClaim(claim)).rejects.toEqual(refusalWith(code));
  await expect(plantClaim(claim)).rejects.toEqual(refusalWith(code));
}

test('a genuine decision permits its call and creates its rules', async () => {
  const gap = await gapOf(bot);
  const claim = {
    gap: world.signGap(gap),
    decision: world.decision(gap, ann, rememberFields(gap)),
  };

  expect(await replayClaim(claim)).toMatchObject({ outcome: 'permit' });
  expect((await plantClaim(claim)).ruleIds).toHaveLength(1);
  expect(await decideOutcome(bot)).toBe('permit');
});

describe('permitReplay and plantRules', () => {
  test('refuse a permission gap that was signed with a key of approvals or the executor', async () => {
    const gap = await gapOf(bot);
    const { GAP_KEY_APPROVALS, GAP_KEY_EXECUTOR } = world.environment.keys;
    const forgedSigner = createSigner<Gap>('gap', GAP_KEY_APPROVALS, GAP_KEY_EXECUTOR).sign(gap);
    const decision = world.decision(gap, ann, rememberFields(gap));

    await expectRefusedClaim({ gap: forgedSigner, decision });
  });

  test('refuse a decision that auth did not sign', async () => {
    const gap = await gapOf(bot);
    const statement = createDecisions(world.environment).on(
      world.signGap(gap),
      ann,
      rememberFields(gap),
    );
    const other = createPublicSigner<DecisionStatement>('decision', 'A'.repeat(43));
    const genuine = world.decision(gap, ann, rememberFields(gap));
    const [payload = '', signature = ''] = genuine.split('.');
    const changed = Buffer.from(JSON.stringify(statement)).toString('base64url');
    const keyId = signature.split(':')[0];

    for (const decision of [
      other.sign(statement),
      `${changed}.${signature}`,
      `${payload}.${keyId}:${other.sign(statement).split(':').at(-1)}`,
      `${payload}.${keyId}:`,
      `${payload}.${'x'.repeat(30)}`,
    ]) {
      await expectRefusedClaim({ gap: world.signGap(gap), decision });
    }
  });

  test('refuse a decision on another call, or of another org', async () => {
    const [gap, other] = [await gapOf(bot), await gapOf(bot, to('other'))];
    const decision = world.decision(other, ann, rememberFields(other));
    await expectRefusedClaim({ gap: world.signGap(gap), decision });

    const decisionInOtherOrg = world.decision(gap, ann, { ...rememberFields(gap), orgId: newId() });
    await expectRefusedClaim({ gap: world.signGap(gap), decision: decisionInOtherOrg });
  });

  test.for<[who: string, by: () => TestIdentity, more?: Partial<DecisionStatement>]>([
    ['the requester without self-approval', () => sub],
    ['the requester with the self-approval switch of another client', () => sub, { as: 'self' }],
    ['an ancestor that claims self-approval', () => ann, { as: 'self', clientId: 'editor' }],
    ['a sibling of the requester', () => world.below(bot, 'sibling')],
    ['another member of the org', () => world.user('bob', { orgId: ann.orgId })],
    ['an agent of an admin', () => world.below(createAdmin(), 'bot'), { role: 'admin' }],
    ['an auditor', () => world.user('olga', { orgId: ann.orgId, role: 'auditor' })],
    ["the requester's user, who has become an auditor", () => ann, { role: 'auditor' }],
  ])('refuse a decision of %s', async ([, by, more = {}]) => {
    const gap = await gapOf(sub);
    await world.rule(ann, sub, 'allow elsewhere:*:*');
    const decision = world.decision(gap, by(), { ...rememberFields(gap), ...more });

    await expectRefusedClaim({ gap: world.signGap(gap), decision });
  });
  const createAdmin = () => world.user('root', { orgId: ann.orgId, role: 'admin' });

  test.for<[what: string, more: (gap: Gap) => Partial<DecisionStatement>]>([
    ['a pattern that no tier offers', () => ({ patterns: ['*:*:*'] })],
    [
      'more patterns than a tier offers',
      (gap) => ({ patterns: [...gap.uncoveredKeys, 'github:**:*'] }),
    ],
    ['nothing', () => ({ patterns: [] })],
    ['patterns although it allows a single call', () => ({ resolution: 'allow' })],
    ['for more than a year', () => ({ expiresAt: Date.now() + 366 * 24 * 60 * minuteMs })],
  ])('refuse a decision to remember %s', async ([, more]) => {
    const gap = await gapOf(bot);
    const decision = world.decision(gap, ann, { ...rememberFields(gap), ...more(gap) });

    await expectRefusedClaim({ gap: world.signGap(gap), decision });
  });

  test("refuse an agent's decision to remember for ever, or for longer than the agent's authority", async () => {
    await world.rule(ann, bot, 'allow github:issues.create:site');
    const gap = await gapOf(sub);
    const endlessDecision = rememberFields(gap, { patterns: gap.uncoveredKeys });
    await expectRefusedClaim({
      gap: world.signGap(gap),
      decision: world.decision(gap, bot, endlessDecision),
    });

    const broadDecision = rememberFields(gap, { expiresAt: Date.now() + minuteMs });
    const decision = world.decision(gap, bot, broadDecision);
    await expect(plantClaim({ gap: world.signGap(gap), decision })).rejects.toEqual(
      refusalWith('approval_stale'),
    );
  });

  test('refuse a decision that is dated before its call, or in the future', async () => {
    const gap = await gapOf(bot);
    for (const at of [gap.issuedAt - 2_000, Date.now() + minuteMs]) {
      const decision = world.decision(gap, ann, { ...rememberFields(gap), at });
      await expectRefusedClaim({ gap: world.signGap(gap), decision });
    }
  });
});

test("a rule that an agent remembers expires with the agent's own rule", async () => {
  const ownRule = await world.rule(ann, bot, 'allow github:*:*');
  await world.db`update policy.rule set expires_at = now() + interval '1 hour' where id = ${ownRule.id}`;
  await world.settle();
  const gap = await gapOf(sub);
  const claim = {
    gap: world.signGap(gap),
    decision: world.decision(
      gap,
      bot,
      rememberFields(gap, { expiresAt: Date.now() + 24 * 60 * minuteMs }),
    ),
  };
  await plantClaim(claim);

  const [row] = await world.db<{ minutes: number }[]>`
    select extract(epoch from expires_at - now())::float / 60 as minutes
      from policy.rule
     where org_id = ${ann.orgId}
       and approval_id is not null
  `;
  expect(Math.round(row?.minutes ?? 0)).toBe(60);
});

describe('an old decision', () => {
  test('permits no replay after 15 minutes, but still creates rules for as long as its event is kept', async () => {
    const issued = { ...(await gapOf(bot)), issuedAt: Date.now() - 8 * 24 * 60 * minuteMs };
    const claim = (minutesAgo: number) => ({
      gap: world.signGap(issued),
      decision: world.decision(issued, ann, {
        ...rememberFields(issued),
        at: Date.now() - minutesAgo * minuteMs,
      }),
    });

    expect(await replayClaim(claim(14))).toMatchObject({ outcome: 'permit' });
    await expect(replayClaim(claim(16))).rejects.toEqual(refusalWith('approval_stale'));
    expect((await plantClaim(claim(6 * 24 * 60))).ruleIds).toHaveLength(1);
    await expect(plantClaim(claim(8 * 24 * 60))).rejects.toEqual(refusalWith('approval_stale'));
  });

  test.for<[what: string, change: (root: TestIdentity) => unknown]>([
    ['is no longer an admin', (root) => (root.role = 'member')],
    ['is archived', (root) => (root.active = false)],
  ])('permits no call and creates no rule when its decider %s', async ([, change]) => {
    const root = world.user('root', { orgId: ann.orgId, role: 'admin' });
    const gap = await gapOf(bot);
    const more = rememberFields(gap, { role: 'admin' });
    const claim = { gap: world.signGap(gap), decision: world.decision(gap, root, more) };
    change(root);
    await world.settle();

    await expectRefusedClaim(claim, 'approval_stale');
    expect(await decideOutcome(bot)).toBe('gap');
  });

  test('does not restore a deleted rule', async () => {
    const gap = await gapOf(bot);
    const claim = {
      gap: world.signGap(gap),
      decision: world.decision(gap, ann, rememberFields(gap)),
    };
    const { ruleIds } = await plantClaim(claim);
    for (const id of ruleIds) {
      await world.gateway.deleteRule({ principal: world.sign(ann), id }, testDeadline());
    }

    expect(await plantClaim(claim)).toEqual({ ruleIds: [] });
    expect(await decideOutcome(bot)).toBe('gap');
  });

  test('permits no call that a later deny rule refuses', async () => {
    const gap = await gapOf(bot);
    const claim = {
      gap: world.signGap(gap),
      decision: world.decision(gap, ann, rememberFields(gap)),
    };
    await world.rule(ann, bot, 'deny github:issues.create:*');

    expect(await replayClaim(claim)).toMatchObject({ outcome: 'denied' });
    await plantClaim(claim);
    expect(await decideOutcome(bot)).toBe('denied');
  });

  test('uses the same dispatch row for every execution id, so that the call is sent once', async () => {
    const gap = await gapOf(bot);
    const claim = { gap: world.signGap(gap), decision: world.decision(gap, ann) };
    const [first, second] = [await replayClaim(claim), await replayClaim(claim)];

    for (const reply of [first, second]) {
      if (reply.outcome !== 'permit') throw new Error('denied');
      const permit = world.permitIn({ ...reply, outcome: 'permit' } as never);
      expect(permit).toMatchObject({ dispatchId: gap.jti, requestDigest: 'd'.repeat(64) });
    }
  });
});

describe('a decision on another call', () => {
  const replayCascade = async (
    decided: Gap,
    gap: Gap,
    { by = ann, ...more }: Partial<DecisionStatement> & { by?: TestIdentity } = {},
  ) => {
    const decision = world.decision(decided, by, { ...rememberFields(decided), ...more });
    const decidedGap = world.signGap(decided);
    return replayClaim({ gap: world.signGap(gap), decision }, { approvalId: newId(), decidedGap });
  };

  test('permits this call when both calls have the same placement and the remembered rules allow this call', async () => {
    const [decided, gap] = [await gapOf(bot), await gapOf(bot, to('other'))];
    const reply = await replayCascade(decided, gap);

    if (reply.outcome !== 'permit') throw new Error('denied');
    // No person has seen this request, so only the seal of the executor identifies the request.
    expect(world.permitIn(reply as never)).toMatchObject({
      dispatchId: gap.jti,
      requestDigest: null,
      callDigest: gap.callDigest,
    });
  });

  test.for<
    [what: string, given: (gaps: { decided: Gap; gap: Gap }) => Parameters<typeof replayCascade>]
  >([
    [
      'when the decision switches the cascade off',
      ({ decided, gap }) => [decided, gap, { cascade: false }],
    ],
    [
      'when the decision allows a single call',
      ({ decided, gap }) => [decided, gap, { resolution: 'allow', patterns: [] }],
    ],
    [
      'when the remembered rules do not cover this call',
      ({ decided, gap }) => [decided, gap, { patterns: decided.suggestedTiers[0]?.keys ?? [] }],
    ],
    [
      'when the decision is a self-approval',
      ({ decided, gap }) => [
        decided,
        gap,
        { by: bot, as: 'self', clientId: 'editor', expiresAt: Date.now() + minuteMs },
      ],
    ],
    [
      'when this call has another placement',
      ({ decided, gap }) => [decided, { ...gap, placement: { ...gap.placement, id: newId() } }],
    ],
    [
      'when this call uses another credential',
      ({ decided, gap }) => [
        {
          ...decided,
          injections: [
            {
              kind: 'secret',
              credentialId: newId(),
              credentialName: 'x',
              in: 'header',
              key: 'authorization',
              prefix: '',
              encoding: 'raw',
            } as Gap['injections'][number],
          ],
        },
        gap,
      ],
    ],
    [
      'when the decided call has less risk than this call',
      ({ decided, gap }) => [{ ...decided, risk: 'read' }, gap],
    ],
    [
      'when both calls delete',
      ({ decided, gap }) => [
        { ...decided, risk: 'delete' },
        { ...gap, risk: 'delete' },
      ],
    ],
    [
      'when the decision was made before this call',
      ({ decided, gap }) => [decided, { ...gap, issuedAt: Date.now() + 10_000 }],
    ],
    [
      // The record that the call was sent is deleted after a day, so the call could be sent twice.
      'when the decision was made a day after this call',
      ({ decided, gap }) => [decided, { ...gap, issuedAt: Date.now() - 24 * 60 * minuteMs }],
    ],
    [
      'when this call belongs to another org',
      ({ decided, gap }) => [decided, { ...gap, orgId: newId() }],
    ],
    [
      'when the decision was made 16 minutes ago',
      ({ decided, gap }) => {
        const at = Date.now() - 16 * minuteMs;
        return [{ ...decided, issuedAt: at }, { ...gap, issuedAt: at }, { at }];
      },
    ],
  ])('does not permit this call: %s', async ([what, given]) => {
    const decidedGap = await gapOf(bot);
    const gap = await gapOf(bot, to('other'));
    const code =
      what === 'when the decision was made 16 minutes ago' ? 'approval_stale' : 'unauthenticated';

    await expect(replayCascade(...given({ decided: decidedGap, gap }))).rejects.toEqual(
      refusalWith(code),
    );
  });

  test('does not permit this call when the decider is not an ancestor of the requester', async () => {
    const bob = world.user('bob', { orgId: ann.orgId });
    const decidedGap = await gapOf(bot);
    const gap = { ...(await gapOf(bot, to('other'))), chain: [bob, bot].map(linkOf) };
    const linked = { ...gap, userId: bob.id };

    await expect(replayCascade(decidedGap, linked)).rejects.toEqual(refusalWith('unauthenticated'));
  });

  test('does not permit this call unless the signed permission gap of the decided call is presented', async () => {
    const [decided, gap] = [await gapOf(bot), await gapOf(bot, to('other'))];
    const decision = world.decision(decided, ann, rememberFields(decided));
    const { GAP_KEY_APPROVALS } = world.environment.keys;
    const forgedGap = createSigner<Gap>('gap', GAP_KEY_APPROVALS).sign(decided);
    const claim = { gap: world.signGap(gap), decision };
    for (const decidedGap of [forgedGap, world.signGap(gap)]) {
      await expect(replayClaim(claim, { approvalId: newId(), decidedGap })).rejects.toEqual(
        refusalWith('unauthenticated'),
      );
    }
  });
});

function linkOf({ id, kind, name, inheritPermissions }: TestIdentity) {
  return { id, kind, name, inheritPermissions };
}
