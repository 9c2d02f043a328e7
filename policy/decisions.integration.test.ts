import { v7 as newId } from 'uuid';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';

import type { DecisionStatement } from '#contracts/decision';
import type { Gap } from '#contracts/permit';
import { createPublicSigner, createSigner } from '#signing';
import { createDecisions } from '../test/support/decisions.ts';
import { connectGithub, createIssue, createPolicyWorld, soon } from './world.testing.ts';
import type { TestIdentity, PolicyWorld } from './world.testing.ts';

// What somebody can do who has taken over approvals: its connection to the bus, its keys, and
// every gap and decision that it was ever given.

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

const minute = 60_000;
const to = (repo: string) => ({
  ...createIssue,
  params: { owner: 'acme', repo, title: 'Bug' },
});
const gapOf = async (being: TestIdentity, call = to('site')) =>
  world.gapIn(await world.decide(being, call));
/** To remember the broadest tier of the gap. */
const remembering = (gap: Gap, more: Partial<DecisionStatement> = {}) => ({
  resolution: 'allow_remember' as const,
  patterns: gap.suggestedTiers.at(-1)?.keys ?? [],
  cascade: true,
  ...more,
});
const refused = (code: string) => expect.objectContaining({ code });

interface Claim {
  readonly gap: string;
  readonly decision: string;
}
const replay = (claim: Claim, cascade: { approvalId: string; decidedGap: string } | null = null) =>
  world.approvals.permitReplay({ ...claim, executionId: newId(), cascade }, soon());
const plant = (claim: Claim) => world.approvals.plantRules(claim, soon());
const outcome = async (being: TestIdentity, call = to('site')) =>
  (await world.decide(being, call)).outcome;

/** Neither permitted nor planted, whichever is asked for. */
async function expectNothing(claim: Claim, code = 'unauthenticated'): Promise<void> {
  await expect(replay(claim)).rejects.toEqual(refused(code));
  await expect(plant(claim)).rejects.toEqual(refused(code));
}

test('a genuine decision permits its call and plants its rules: what the others are changes of', async () => {
  const gap = await gapOf(bot);
  const claim = { gap: world.signGap(gap), decision: world.decision(gap, ann, remembering(gap)) };

  expect(await replay(claim)).toMatchObject({ outcome: 'permit' });
  expect((await plant(claim)).ruleIds).toHaveLength(1);
  expect(await outcome(bot)).toBe('permit');
});

describe('nothing is permitted or planted by', () => {
  test('a gap that the keys of approvals and executor can sign', async () => {
    const gap = await gapOf(bot);
    const { GAP_KEY_APPROVALS, GAP_KEY_EXECUTOR } = world.environment.keys;
    const forged = createSigner<Gap>('gap', GAP_KEY_APPROVALS, GAP_KEY_EXECUTOR).sign(gap);
    const decision = world.decision(gap, ann, remembering(gap));

    await expectNothing({ gap: forged, decision });
  });

  test('a decision that somebody else signed', async () => {
    const gap = await gapOf(bot);
    const statement = createDecisions(world.environment).on(
      world.signGap(gap),
      ann,
      remembering(gap),
    );
    const other = createPublicSigner<DecisionStatement>('decision', 'A'.repeat(43));
    const genuine = world.decision(gap, ann, remembering(gap));
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
      await expectNothing({ gap: world.signGap(gap), decision });
    }
  });

  test('a decision on another call, or of another org', async () => {
    const [gap, other] = [await gapOf(bot), await gapOf(bot, to('other'))];
    const decision = world.decision(other, ann, remembering(other));
    await expectNothing({ gap: world.signGap(gap), decision });

    const abroad = world.decision(gap, ann, { ...remembering(gap), orgId: newId() });
    await expectNothing({ gap: world.signGap(gap), decision: abroad });
  });

  test.for<[who: string, by: () => TestIdentity, more?: Partial<DecisionStatement>]>([
    ['the requester', () => sub],
    ['the requester, saying it is another client’s switch', () => sub, { as: 'self' }],
    ['an ancestor as if it were the requester', () => ann, { as: 'self', clientId: 'editor' }],
    ['its sibling', () => world.below(bot, 'sibling')],
    ['another member of the org', () => world.user('bob', { orgId: ann.orgId })],
    ['an agent of an admin', () => world.below(admin(), 'bot'), { role: 'admin' }],
    ['an auditor', () => world.user('olga', { orgId: ann.orgId, role: 'auditor' })],
    ['its own user, who is an auditor by now', () => ann, { role: 'auditor' }],
  ])('%s', async ([, by, more = {}]) => {
    const gap = await gapOf(sub);
    await world.rule(ann, sub, 'allow elsewhere:*:*');
    const decision = world.decision(gap, by(), { ...remembering(gap), ...more });

    await expectNothing({ gap: world.signGap(gap), decision });
  });
  const admin = () => world.user('root', { orgId: ann.orgId, role: 'admin' });

  test.for<[what: string, more: (gap: Gap) => Partial<DecisionStatement>]>([
    ['what no tier offers', () => ({ patterns: ['*:*:*'] })],
    ['more than a tier offers', (gap) => ({ patterns: [...gap.uncoveredKeys, 'github:**:*'] })],
    ['nothing', () => ({ patterns: [] })],
    ['more than a single call', () => ({ resolution: 'allow' })],
    ['for more than a year', () => ({ expiresAt: Date.now() + 366 * 24 * 60 * minute })],
  ])('a decision to remember %s', async ([, more]) => {
    const gap = await gapOf(bot);
    const decision = world.decision(gap, ann, { ...remembering(gap), ...more(gap) });

    await expectNothing({ gap: world.signGap(gap), decision });
  });

  test('an agent’s decision to remember without an end, or beyond its authority', async () => {
    await world.rule(ann, bot, 'allow github:issues.create:site');
    const gap = await gapOf(sub);
    const endless = remembering(gap, { patterns: gap.uncoveredKeys });
    await expectNothing({ gap: world.signGap(gap), decision: world.decision(gap, bot, endless) });

    const broad = remembering(gap, { expiresAt: Date.now() + minute });
    const decision = world.decision(gap, bot, broad);
    await expect(plant({ gap: world.signGap(gap), decision })).rejects.toEqual(
      refused('approval_stale'),
    );
  });

  test('a decision before its call, or one of the future', async () => {
    const gap = await gapOf(bot);
    for (const at of [gap.issuedAt - 2_000, Date.now() + minute]) {
      const decision = world.decision(gap, ann, { ...remembering(gap), at });
      await expectNothing({ gap: world.signGap(gap), decision });
    }
  });
});

test('what an agent remembers ends with the rule by which it may do it itself', async () => {
  const own = await world.rule(ann, bot, 'allow github:*:*');
  await world.db`update policy.rule set expires_at = now() + interval '1 hour' where id = ${own.id}`;
  await world.settle();
  const gap = await gapOf(sub);
  const claim = {
    gap: world.signGap(gap),
    decision: world.decision(
      gap,
      bot,
      remembering(gap, { expiresAt: Date.now() + 24 * 60 * minute }),
    ),
  };
  await plant(claim);

  const [row] = await world.db<{ minutes: number }[]>`
    select extract(epoch from expires_at - now())::float / 60 as minutes
      from policy.rule
     where org_id = ${ann.orgId}
       and approval_id is not null
  `;
  expect(Math.round(row?.minutes ?? 0)).toBe(60);
});

describe('an old decision', () => {
  test('permits no replay 15 minutes later, and plants for as long as its event lives', async () => {
    const issued = { ...(await gapOf(bot)), issuedAt: Date.now() - 8 * 24 * 60 * minute };
    const claim = (minutesAgo: number) => ({
      gap: world.signGap(issued),
      decision: world.decision(issued, ann, {
        ...remembering(issued),
        at: Date.now() - minutesAgo * minute,
      }),
    });

    expect(await replay(claim(14))).toMatchObject({ outcome: 'permit' });
    await expect(replay(claim(16))).rejects.toEqual(refused('approval_stale'));
    expect((await plant(claim(6 * 24 * 60))).ruleIds).toHaveLength(1);
    await expect(plant(claim(8 * 24 * 60))).rejects.toEqual(refused('approval_stale'));
  });

  test.for<[what: string, change: (root: TestIdentity) => unknown]>([
    ['is no admin any more', (root) => (root.role = 'member')],
    ['is archived', (root) => (root.active = false)],
  ])('of somebody who %s permits and plants nothing', async ([, change]) => {
    const root = world.user('root', { orgId: ann.orgId, role: 'admin' });
    const gap = await gapOf(bot);
    const more = remembering(gap, { role: 'admin' });
    const claim = { gap: world.signGap(gap), decision: world.decision(gap, root, more) };
    change(root);
    await world.settle();

    await expectNothing(claim, 'approval_stale');
    expect(await outcome(bot)).toBe('gap');
  });

  test('does not bring back a rule that was deleted', async () => {
    const gap = await gapOf(bot);
    const claim = { gap: world.signGap(gap), decision: world.decision(gap, ann, remembering(gap)) };
    const { ruleIds } = await plant(claim);
    for (const id of ruleIds) {
      await world.gateway.deleteRule({ principal: world.sign(ann), id }, soon());
    }

    expect(await plant(claim)).toEqual({ ruleIds: [] });
    expect(await outcome(bot)).toBe('gap');
  });

  test('gives way to a deny that came after it', async () => {
    const gap = await gapOf(bot);
    const claim = { gap: world.signGap(gap), decision: world.decision(gap, ann, remembering(gap)) };
    await world.rule(ann, bot, 'deny github:issues.create:*');

    expect(await replay(claim)).toMatchObject({ outcome: 'denied' });
    await plant(claim);
    expect(await outcome(bot)).toBe('denied');
  });

  test('is the same dispatch as whichever execution it is shown for', async () => {
    const gap = await gapOf(bot);
    const claim = { gap: world.signGap(gap), decision: world.decision(gap, ann) };
    const [first, second] = [await replay(claim), await replay(claim)];

    for (const reply of [first, second]) {
      if (reply.outcome !== 'permit') throw new Error('denied');
      const permit = world.permitIn({ ...reply, outcome: 'permit' } as never);
      expect(permit).toMatchObject({ dispatchId: gap.jti, requestDigest: 'd'.repeat(64) });
    }
  });
});

describe('the decision on another call', () => {
  const cascadeFrom = async (
    decided: Gap,
    gap: Gap,
    { by = ann, ...more }: Partial<DecisionStatement> & { by?: TestIdentity } = {},
  ) => {
    const decision = world.decision(decided, by, { ...remembering(decided), ...more });
    const decidedGap = world.signGap(decided);
    return replay({ gap: world.signGap(gap), decision }, { approvalId: newId(), decidedGap });
  };

  test('permits what waits at the same place and its rules would allow', async () => {
    const [decided, gap] = [await gapOf(bot), await gapOf(bot, to('other'))];
    const reply = await cascadeFrom(decided, gap);

    if (reply.outcome !== 'permit') throw new Error('denied');
    // Nobody was shown this request: the seal that the executor made alone says which it is.
    expect(world.permitIn(reply as never)).toMatchObject({
      dispatchId: gap.jti,
      requestDigest: null,
      callDigest: gap.callDigest,
    });
  });

  test.for<
    [what: string, given: (gaps: { decided: Gap; gap: Gap }) => Parameters<typeof cascadeFrom>]
  >([
    ['without cascade', ({ decided, gap }) => [decided, gap, { cascade: false }]],
    [
      'for a single call',
      ({ decided, gap }) => [decided, gap, { resolution: 'allow', patterns: [] }],
    ],
    [
      'whose rules do not reach it',
      ({ decided, gap }) => [decided, gap, { patterns: decided.suggestedTiers[0]?.keys ?? [] }],
    ],
    [
      'of the requester on itself',
      ({ decided, gap }) => [
        decided,
        gap,
        { by: bot, as: 'self', clientId: 'editor', expiresAt: Date.now() + minute },
      ],
    ],
    [
      'at another place',
      ({ decided, gap }) => [decided, { ...gap, placement: { ...gap.placement, id: newId() } }],
    ],
    [
      'for another credential',
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
    ['of lower risk', ({ decided, gap }) => [{ ...decided, risk: 'read' }, gap]],
    [
      'of high risk, as it is itself',
      ({ decided, gap }) => [
        { ...decided, risk: 'delete' },
        { ...gap, risk: 'delete' },
      ],
    ],
    [
      'that was made before it was asked for',
      ({ decided, gap }) => [decided, { ...gap, issuedAt: Date.now() + 10_000 }],
    ],
    [
      // What it was decided and sent under is forgotten after a day.
      'made a day after this one was asked for',
      ({ decided, gap }) => [decided, { ...gap, issuedAt: Date.now() - 24 * 60 * minute }],
    ],
    ['in another org', ({ decided, gap }) => [decided, { ...gap, orgId: newId() }]],
    [
      'made 16 minutes ago',
      ({ decided, gap }) => {
        const at = Date.now() - 16 * minute;
        return [{ ...decided, issuedAt: at }, { ...gap, issuedAt: at }, { at }];
      },
    ],
  ])('does not reach this one: %s', async ([what, given]) => {
    const decided = await gapOf(bot);
    const gap = await gapOf(bot, to('other'));
    const code = what === 'made 16 minutes ago' ? 'approval_stale' : 'unauthenticated';

    await expect(cascadeFrom(...given({ decided, gap }))).rejects.toEqual(refused(code));
  });

  test('does not reach what its decider is not above', async () => {
    const bob = world.user('bob', { orgId: ann.orgId });
    const decided = await gapOf(bot);
    const gap = { ...(await gapOf(bot, to('other'))), chain: [bob, bot].map(linkOf) };
    const linked = { ...gap, userId: bob.id };

    await expect(cascadeFrom(decided, linked)).rejects.toEqual(refused('unauthenticated'));
  });

  test('needs the gap that it was made on, as policy signed it', async () => {
    const [decided, gap] = [await gapOf(bot), await gapOf(bot, to('other'))];
    const decision = world.decision(decided, ann, remembering(decided));
    const { GAP_KEY_APPROVALS } = world.environment.keys;
    const forged = createSigner<Gap>('gap', GAP_KEY_APPROVALS).sign(decided);
    const claim = { gap: world.signGap(gap), decision };
    for (const decidedGap of [forged, world.signGap(gap)]) {
      await expect(replay(claim, { approvalId: newId(), decidedGap })).rejects.toEqual(
        refused('unauthenticated'),
      );
    }
  });
});

function linkOf({ id, kind, name, inheritPermissions }: TestIdentity) {
  return { id, kind, name, inheritPermissions };
}
