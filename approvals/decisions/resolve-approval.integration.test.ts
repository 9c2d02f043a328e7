import { v7 as uuidv7 } from 'uuid';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';

import type { DecisionStatement } from '#contracts/decision';
import { decisionWordNames, decisionWords } from '#contracts/decision-words';
import type { Principal } from '#contracts/vocabulary';
import { createSigner } from '#signing';
import { sampleDecisions } from '../../test/support/decision-bodies.ts';
import { readUnverified } from '../../test/support/decisions.ts';
import { createWorld, testDeadline } from '../world.testing.ts';
import type { World } from '../world.testing.ts';

type PersonName =
  | 'ann'
  | 'bot'
  | 'helper'
  | 'sibling'
  | 'bob'
  | 'bobsBot'
  | 'admin'
  | 'adminsBot'
  | 'auditor'
  | 'stranger';

let world: World;
beforeAll(async () => {
  world = await createWorld({ replicas: 2 });
});
afterAll(() => world[Symbol.asyncDispose]());
beforeEach(async () => {
  await world.clear();
  const { neighbours, bot, helper } = world;
  neighbours.planted.length = 0;
  neighbours.plantingFails = false;
  neighbours.showsOutlines = false;
  neighbours.authority.clear();
  neighbours.authority.set(bot.id, { prefixes: ['github:'], untilMs: null });
  bot.active = true;
  helper.active = true;
  world.admin.active = true;
});

const key = 'github:issues.create:acme/site';
const rememberingWords = decisionWordNames.filter(
  (decisionWord) => decisionWords[decisionWord].remembersFor !== null,
);

describe('the right to decide an approval', () => {
  test.for<[role: string, who: PersonName, allowed: boolean, code?: string]>([
    ["the requester's user", 'ann', true],
    ["the requester's agent", 'bot', true],
    ['an admin of the org', 'admin', true],
    ['the requester itself', 'helper', false, 'self_approval_disabled'],
    ['a sibling of the requester', 'sibling', false, 'not_in_your_chain'],
    ['another member of the org', 'bob', false, 'not_in_your_chain'],
    ["another member's agent", 'bobsBot', false, 'not_in_your_chain'],
    ["an admin's agent", 'adminsBot', false, 'not_in_your_chain'],
    ['an auditor', 'auditor', false, 'not_in_your_chain'],
    ['an admin of another org', 'stranger', false, 'not_found'],
  ])('is granted to %s ($1): $2', async ([, who, isAllowed, code]) => {
    const { helper, suspend, resolve, get, ann } = world;
    for (const resolution of decisionWordNames) {
      const id = await suspend(helper, { covering: [world.bot], arg: `acme/${resolution}` });
      const resolving = resolve(world[who], id, sampleDecisions[resolution]);
      if (isAllowed)
        await expect(resolving).resolves.toMatchObject({ id, relationship: 'downstream' });
      else {
        await expect(resolving).rejects.toMatchObject({ code });
        expect((await get(ann, id)).status).toBe('pending');
      }
    }
  });

  test.for(['NOTIFIER', 'AUDIT', 'REGISTRY', 'EXECUTOR', 'POLICY'] as const)(
    'is not granted by a principal that was signed with the key of the component %s',
    async (component) => {
      const { helper, ann, admin, as, suspend, get, client, context, environment } = world;
      const id = await suspend(helper, { arg: `acme/${component}` });
      const genuine = as(admin).split('.')[0] ?? '';
      const claims = JSON.parse(Buffer.from(genuine, 'base64url').toString()) as Principal;
      const key = environment.keys[`PRINCIPAL_KEY_${component}`];
      const principal = createSigner<Principal>('principal', key).sign(claims);
      const request = {
        principal,
        id,
        as: 'ancestor' as const,
        body: { resolution: 'allow' as const },
        decision: null,
        context,
      };

      await expect(client.resolve(request, testDeadline())).rejects.toMatchObject({
        code: 'unauthenticated',
      });
      expect((await get(ann, id)).status).toBe('pending');
    },
  );

  test.for<[what: string, change: (id: string) => Partial<DecisionStatement>]>([
    ['another approval', () => ({ approvalId: uuidv7() })],
    ['another call', () => ({ gapDigest: 'a'.repeat(64) })],
    ['another request', () => ({ requestDigest: 'a'.repeat(64) })],
    [
      'a broader rule than the request names',
      () => ({ resolution: 'allow_remember', patterns: ['github:*:*'] }),
    ],
    ['a cascade that the request does not ask for', () => ({ cascade: true })],
    ['another decider', () => ({ deciderId: world.admin.id })],
    ['the requester itself', () => ({ as: 'self', clientId: 'c' })],
  ])('is not granted by a decision that was signed for %s', async ([, change]) => {
    const { helper, ann, suspend, get, client, as, context, decisions } = world;
    const id = await suspend(helper);
    const { proof } = await get(ann, id);
    if (proof === null) throw new Error('no proof');
    const person = { ...ann, kind: 'user' as const };
    const { gapDigest, requestDigest } = proof;
    const genuine = { approvalId: id, gapDigest, requestDigest };
    const request = { principal: as(ann), id, as: 'ancestor' as const, context };
    const body = { resolution: 'allow' as const };
    const resolve = (decision: string | null) =>
      client.resolve({ ...request, body, decision }, testDeadline());

    const other = decisions.signOn('', person, { ...genuine, ...change(id) });
    await expect(resolve(other)).rejects.toMatchObject({ code: 'card_not_verified' });
    const [payload] = decisions.signOn('', person, genuine).split('.');
    await expect(resolve(`${payload}.${'x'.repeat(30)}`)).rejects.toMatchObject({
      code: 'unauthenticated',
    });
    await expect(resolve(null)).rejects.toMatchObject({ code: 'approval_stale' });
    expect((await get(ann, id)).status).toBe('pending');
    expect(await resolve(decisions.signOn('', person, genuine))).toMatchObject({
      status: 'allowed',
    });
  });

  test('an approval of another org gets the same answer as an approval that does not exist', async () => {
    const { helper, stranger, suspend, resolve, cancel, run, resume, get } = world;
    const id = await suspend(helper);
    const foreignOrgError = await resolve(stranger, id, { resolution: 'allow' }).catch(
      (error: unknown) => error,
    );
    const unknownIdError = await resolve(stranger, uuidv7(), { resolution: 'allow' }).catch(
      (error: unknown) => error,
    );

    expect(foreignOrgError).toEqual(unknownIdError);
    for (const doing of [cancel, run, resume, get]) {
      await expect(doing(stranger, id)).rejects.toMatchObject({ code: 'not_found' });
    }
  });

  test('is not granted to an auditor, not even for its own agent', async () => {
    const { auditor, auditorsBot, suspend, resolve } = world;
    const id = await suspend(auditorsBot);

    await expect(resolve(auditor, id, { resolution: 'allow' })).rejects.toMatchObject({
      code: 'not_in_your_chain',
    });
  });

  test('is not granted to an archived admin', async () => {
    const { admin, helper, suspend, resolve } = world;
    const id = await suspend(helper);
    admin.active = false;

    await expect(resolve(admin, id, { resolution: 'allow' })).rejects.toMatchObject({
      code: 'not_in_your_chain',
    });
  });

  test("a call cannot be allowed once its requester's chain is not active", async () => {
    const { bot, ann, helper, suspend, resolve, get } = world;
    const id = await suspend(helper);
    bot.active = false;

    await expect(resolve(ann, id, { resolution: 'allow' })).rejects.toMatchObject({
      code: 'already_resolved',
      details: { status: 'denied', reason: 'requester_revoked' },
    });
    expect(await get(ann, id)).toMatchObject({
      status: 'denied',
      reason: 'requester_revoked',
      resolution: null,
    });
  });
});

describe('a decision', () => {
  test('is made once when 20 callers decide at the same time, and the others learn which decision counts', async () => {
    const { ann, admin, bot, helper, suspend, resolve, eventsOf, sql } = world;
    for (let round = 0; round < 5; round += 1) {
      const id = await suspend(helper, { arg: `acme/${round}`, auto: false });
      const settledDecisions = await Promise.allSettled(
        Array.from({ length: 20 }, (_, index) =>
          resolve([ann, admin, bot][index % 3] ?? ann, id, {
            resolution: index % 2 === 0 ? 'allow' : 'deny',
          }),
        ),
      );
      const winners = settledDecisions.filter((each) => each.status === 'fulfilled');
      expect(winners).toHaveLength(1);
      const wonApproval = winners[0]?.value;
      for (const each of settledDecisions) {
        if (each.status === 'fulfilled') continue;
        expect(each.reason).toMatchObject({
          code: 'already_resolved',
          details: {
            status: wonApproval?.status,
            resolution: wonApproval?.resolution,
            resolved_by: { id: wonApproval?.resolved_by?.id },
          },
        });
      }
      expect((await eventsOf(id)).map((event) => event.type)).toEqual([
        'approval.raised',
        'approval.resolved',
      ]);
      const executions = await sql`select id from approvals.execution where approval_id = ${id}`;
      expect(executions).toHaveLength(wonApproval?.status === 'allowed' ? 1 : 0);
    }
  });

  test('returns the pending execution and is recorded for the user when it allows the call', async () => {
    const { ann, helper, suspend, resolve, eventsOf } = world;
    const id = await suspend(helper, { auto: false });
    const approval = await resolve(ann, id, { resolution: 'allow_once', reason: 'fine' });

    expect(approval).toMatchObject({
      status: 'allowed',
      resolution: 'allow',
      reason: 'fine',
      resolved_by: { id: ann.id, name: 'ann', path: ['ann'] },
      execution: { status: 'pending', runtime: 'http', triggered_by: null },
    });
    const execution = approval.execution as NonNullable<typeof approval.execution>;
    expect(approval.expires_at).toBe(execution.expires_at);
    expect(Date.parse(execution.expires_at) - Date.parse(execution.created_at)).toBe(900_000);
    expect((await eventsOf(id)).at(-1)).toMatchObject({
      type: 'approval.resolved',
      audience: [ann.id, world.bot.id, helper.id],
      data: {
        approval_id: id,
        status: 'allowed',
        resolution: 'allow',
        execution: { id: execution.id },
      },
      audit: {
        user_id: ann.id,
        identity: { id: ann.id },
        decision: { by: 'approval', approval_id: id },
      },
    });
  });

  test('stores its reason, creates no execution and erases the call when it denies the call', async () => {
    const { ann, helper, suspend, resolve, resume, sql, eventsOf } = world;
    const id = await suspend(helper);
    const approval = await resolve(ann, id, { resolution: 'deny', reason: 'too risky' });

    expect(approval).toMatchObject({ status: 'denied', reason: 'too risky', resolution: 'deny' });
    expect(approval).not.toHaveProperty('execution');
    expect(await resume(helper, id)).toEqual({
      kind: 'denied',
      reason: 'too risky',
      approvalId: id,
    });
    expect(await sql`select gap, sealed_call from approvals.approval where id = ${id}`).toEqual([
      { gap: null, sealed_call: null },
    ]);
    expect((await eventsOf(id)).at(-1)).toMatchObject({
      data: { reason: 'too risky' },
      audit: { outcome: 'denied' },
    });
  });

  test('names the decider when it denies without a reason', async () => {
    const { ann, helper, suspend, resolve, resume } = world;
    const id = await suspend(helper);
    await resolve(ann, id, { resolution: 'deny' });

    expect(await resume(helper, id)).toMatchObject({ kind: 'denied', reason: 'Denied by ann.' });
  });

  test('is refused after the time limit of the approval, even before its state is changed to expired', async () => {
    const { ann, helper, suspend, resolve, sql, until, get } = world;
    const id = await suspend(helper);
    await sql`update approvals.approval set expires_at = now() where id = ${id}`;
    await expect(resolve(ann, id, { resolution: 'allow' })).rejects.toMatchObject({
      code: 'expired',
    });

    await until(
      () => get(ann, id),
      (approval) => approval.status === 'expired',
    );
    await expect(resolve(ann, id, { resolution: 'allow' })).rejects.toMatchObject({
      code: 'expired',
    });
    expect(await sql`select id from approvals.execution`).toHaveLength(0);
  });
});

describe('the decision allow_remember', () => {
  test('creates the narrowest suggested rule (tier) and emits an internal event', async () => {
    const { ann, helper, suspend, resolve, neighbours, eventsOf } = world;
    const id = await suspend(helper, { auto: false });
    const approval = await resolve(ann, id, { resolution: 'allow_remember' });

    expect(approval).toMatchObject({ resolution: 'allow_remember', cascaded_approval_ids: [] });
    const [planted] = neighbours.planted;
    expect(planted).toMatchObject({
      gap: { placement: { id: helper.id }, uncoveredKeys: [key] },
      decision: { approvalId: id, patterns: [key], deciderId: ann.id, clientId: null },
    });
    const remembered = (await eventsOf(id)).find((event) => event.type === 'approval.remembered');
    expect(Object.keys(remembered?.data ?? {}).toSorted()).toEqual([
      'approval_id',
      'decision',
      'gap',
    ]);
    const { gap, decision } = (remembered?.data ?? {}) as { gap: string; decision: string };
    expect(readUnverified(gap)).toEqual(planted?.gap);
    expect(readUnverified(decision)).toEqual(planted?.decision);
  });

  test('can choose a broader suggested rule (tier) and a ttl; allow_always creates a rule without an end', async () => {
    const { ann, helper, suspend, resolve, neighbours } = world;
    const first = await suspend(helper, { auto: false });
    await resolve(ann, first, {
      resolution: 'allow_remember',
      remember_keys: ['github:*:*'],
      ttl: '24h',
    });
    const second = await suspend(helper, { auto: false, arg: 'acme/other' });
    await resolve(ann, second, { resolution: 'allow_always' });

    expect(neighbours.planted[0]).toMatchObject({
      decision: { patterns: ['github:*:*'] },
    });
    expect(neighbours.planted[1]).toMatchObject({ decision: { expiresAt: null } });
  });

  test.for<[rule: string, body: object, code: string]>([
    [
      'a key that no tier offers',
      { resolution: 'allow_remember', remember_keys: ['gitlab:*:*'] },
      'remember_keys_not_offered',
    ],
    ['a ttl beyond a year', { resolution: 'allow_remember', ttl: '9999d' }, 'invalid_params'],
    ['a ttl below a minute', { resolution: 'allow_remember', ttl: '1s' }, 'invalid_params'],
    [
      'a ttl in a decision about a single call',
      { resolution: 'allow', ttl: '24h' },
      'invalid_params',
    ],
    ['an unknown decision', { resolution: 'perhaps' }, 'invalid_request'],
  ])('refuses %s and changes nothing', async ([, body, code]) => {
    const { ann, helper, suspend, resolve, get, neighbours } = world;
    const id = await suspend(helper);

    await expect(resolve(ann, id, body as never)).rejects.toMatchObject({ code });
    expect((await get(ann, id)).status).toBe('pending');
    expect(neighbours.planted).toEqual([]);
  });

  test('succeeds even if policy cannot create the rule now; the event creates it later', async () => {
    const { ann, helper, suspend, resolve, neighbours, eventsOf } = world;
    neighbours.plantingFails = true;
    const id = await suspend(helper, { auto: false });

    await expect(resolve(ann, id, { resolution: 'allow_remember' })).resolves.toMatchObject({
      status: 'allowed',
    });
    expect((await eventsOf(id)).map((event) => event.type)).toContain('approval.remembered');
  });
});

describe('an agent that decides an approval', () => {
  test('hands up an approval that its authority does not cover, and is told why', async () => {
    const { bot, ann, helper, neighbours, suspend, resolve, get, eventsOf } = world;
    neighbours.authority.delete(bot.id);
    const id = await suspend(helper, { covering: [bot] });

    await expect(resolve(bot, id, { resolution: 'allow' })).rejects.toMatchObject({
      code: 'exceeds_authority',
      details: { uncovered: [key], resolver_id: ann.id },
    });
    expect(await get(ann, id)).toMatchObject({ status: 'bubbled', resolver_id: ann.id });
    expect((await eventsOf(id)).at(-1)).toMatchObject({
      type: 'approval.bubbled',
      data: { from: bot.id, to: ann.id, by: 'agent' },
    });
    await expect(resolve(bot, id, { resolution: 'deny' })).resolves.toMatchObject({
      status: 'denied',
    });
  });

  test('may remember only what its authority covers', async () => {
    const { bot, helper, neighbours, suspend, resolve } = world;
    neighbours.authority.set(bot.id, { prefixes: [key], untilMs: null });
    const id = await suspend(helper, { covering: [bot], auto: false });

    await expect(
      resolve(bot, id, { resolution: 'allow_remember', remember_keys: ['github:*:*'], ttl: '24h' }),
    ).rejects.toMatchObject({ code: 'exceeds_authority', details: { uncovered: ['github:*:*'] } });
  });

  test('cannot remember for longer than its own rule lasts, nor for ever', async () => {
    const { bot, helper, neighbours, suspend, resolve } = world;
    const untilMs = Date.now() + 3_600_000;
    neighbours.authority.set(bot.id, { prefixes: ['github:'], untilMs });
    const id = await suspend(helper, { covering: [bot], auto: false });

    await expect(
      resolve(bot, id, { resolution: 'allow_remember', ttl: '2h' }),
    ).rejects.toMatchObject({
      code: 'exceeds_authority',
      details: { until: new Date(untilMs).toISOString() },
    });
    await expect(resolve(bot, id, { resolution: 'allow_always' })).rejects.toMatchObject({
      code: 'exceeds_authority',
    });
    await resolve(bot, id, { resolution: 'allow_remember' });
    // Policy, not approvals, lets the rule expire no later than the agent's own authority.
    expect(neighbours.planted[0]).toMatchObject({ decision: { deciderId: bot.id } });
  });
});

describe('handing up an approval (bubble)', () => {
  test('makes the next ancestor decide, up to the user', async () => {
    const { bot, ann, helper, suspend, resolve, get, eventsOf } = world;
    const id = await suspend(helper, { covering: [bot] });
    expect(await resolve(bot, id, { resolution: 'bubble' })).toMatchObject({
      status: 'bubbled',
      resolver_id: ann.id,
    });

    await expect(resolve(ann, id, { resolution: 'bubble' })).rejects.toMatchObject({
      code: 'already_at_top',
    });
    expect((await eventsOf(id)).at(-1)?.data).toEqual({
      approval_id: id,
      from: bot.id,
      to: ann.id,
      by: 'agent',
    });
    expect(await resolve(ann, id, { resolution: 'allow' })).toMatchObject({ status: 'allowed' });
    expect((await get(ann, id)).resolver_id).toBe(ann.id);
  });

  test('happens once when ten callers request it at the same time', async () => {
    const { bot, ann, helper, suspend, resolve, eventsOf } = world;
    const id = await suspend(helper, { covering: [bot] });
    await Promise.allSettled(
      Array.from({ length: 10 }, () => resolve(ann, id, { resolution: 'bubble' })),
    );

    expect((await eventsOf(id)).map((event) => event.type)).toEqual([
      'approval.raised',
      'approval.bubbled',
    ]);
  });
});

describe('a request that is too large to be shown whole', () => {
  const suspendLarge = async (arg = 'acme/large') => {
    world.neighbours.showsOutlines = true;
    const id = await world.suspend(world.helper, { arg, covering: [world.bot], auto: false });
    world.neighbours.showsOutlines = false;
    return id;
  };

  test('is allowed only with an acknowledgement', async () => {
    const { ann, bot, resolve, get } = world;
    const id = await suspendLarge();

    for (const person of [ann, bot]) {
      for (const resolution of ['allow', 'allow_once'] as const) {
        await expect(resolve(person, id, { resolution })).rejects.toMatchObject({
          code: 'acknowledgement_required',
          details: { acknowledge: 'too_large' },
        });
      }
    }
    expect(await get(ann, id)).toMatchObject({ status: 'pending', request: { too_large: true } });
    expect(await resolve(ann, id, { resolution: 'allow', acknowledge: 'too_large' })).toMatchObject(
      { status: 'allowed', resolution: 'allow' },
    );
  });

  test('has no suggested rules (tiers), and a decision on it cannot be remembered', async () => {
    const { ann, resolve, get, neighbours } = world;
    const id = await suspendLarge();

    for (const resolution of rememberingWords) {
      for (const given of [{}, { remember_keys: [key] }]) {
        const body = { resolution, acknowledge: 'too_large' as const, ...given };
        await expect(resolve(ann, id, body)).rejects.toMatchObject({
          code: 'remember_keys_not_offered',
        });
      }
    }
    expect(await get(ann, id)).toMatchObject({ status: 'pending', suggested_tiers: [] });
    expect(neighbours.planted).toEqual([]);
  });

  test('can be denied and handed up like any other request', async () => {
    const { ann, bot, resolve } = world;
    const handedUp = await suspendLarge('acme/up');
    expect(await resolve(bot, handedUp, { resolution: 'bubble' })).toMatchObject({
      status: 'bubbled',
    });
    expect(await resolve(ann, handedUp, { resolution: 'deny' })).toMatchObject({
      status: 'denied',
    });
  });

  test('is not allowed by a cascade', async () => {
    const { ann, helper, suspend, resolve, get } = world;
    const large = await suspendLarge();
    const first = await suspend(helper, { arg: 'acme/a', auto: false });

    const rememberingDecision = { resolution: 'allow_remember', ttl: '1h' } as const;
    const approval = await resolve(ann, first, {
      ...rememberingDecision,
      remember_keys: ['github:issues.create:*'],
      acknowledge: 'too_large',
    });

    expect(approval.cascaded_approval_ids).toEqual([]);
    expect((await get(ann, large)).status).toBe('pending');
  });
});

describe('a cascade of a decision', () => {
  test('allows approvals that the new rule covers at the same placement and risk, and no others', async () => {
    const { ann, helper, sibling, bobsBot, suspend, resolve, get, eventsOf } = world;
    const first = await suspend(helper, { arg: 'acme/a', auto: false });
    const coveredApproval = await suspend(helper, { arg: 'acme/b', auto: false });
    const riskierApproval = await suspend(helper, { arg: 'acme/c', risk: 'delete', auto: false });
    const siblingApproval = await suspend(sibling, { arg: 'acme/d', auto: false });
    const otherCredentialApproval = await suspend(helper, {
      arg: 'acme/e',
      auto: false,
      change: { injections: [] },
    });
    const othersApproval = await suspend(bobsBot, { arg: 'acme/f', auto: false });

    const approval = await resolve(ann, first, {
      resolution: 'allow_remember',
      remember_keys: ['github:issues.create:*'],
      ttl: '1h',
    });

    expect(approval.cascaded_approval_ids).toEqual([coveredApproval]);
    expect(await get(ann, coveredApproval)).toMatchObject({
      status: 'allowed',
      resolution: 'allow',
      resolved_by: { id: ann.id },
    });
    for (const id of [riskierApproval, siblingApproval, otherCredentialApproval])
      expect((await get(ann, id)).status).toBe('pending');
    expect((await get(world.bob, othersApproval)).status).toBe('pending');
    expect((await eventsOf(coveredApproval)).map((event) => event.type)).toEqual([
      'approval.raised',
      'approval.resolved',
    ]);
  });

  test('does not happen when the decision says cascade: false or allows only one call', async () => {
    const { ann, helper, suspend, resolve, get } = world;
    const ids = [
      await suspend(helper, { arg: 'acme/a', auto: false }),
      await suspend(helper, { arg: 'acme/b', auto: false }),
      await suspend(helper, { arg: 'acme/c', auto: false }),
    ] as const;
    await resolve(ann, ids[0], {
      resolution: 'allow_remember',
      remember_keys: ['github:*:*'],
      cascade: false,
    });
    await resolve(ann, ids[1], { resolution: 'allow' });

    expect((await get(ann, ids[2])).status).toBe('pending');
  });

  test('allows at most twenty approvals', async () => {
    await using wideLimitWorld = await createWorld({
      variables: { APPROVALS_OPEN_PER_REQUESTER: '30' },
    });
    const first = await wideLimitWorld.suspend(wideLimitWorld.helper, {
      arg: 'acme/first',
      auto: false,
    });
    for (let index = 0; index < 22; index += 1)
      await wideLimitWorld.suspend(wideLimitWorld.helper, { arg: `acme/${index}`, auto: false });
    const approval = await wideLimitWorld.resolve(wideLimitWorld.ann, first, {
      resolution: 'allow_remember',
      remember_keys: ['github:*:*'],
    });

    expect(approval.cascaded_approval_ids).toHaveLength(20);
    expect((await wideLimitWorld.list(wideLimitWorld.ann, { status: 'open' })).items).toHaveLength(
      2,
    );
  });
});
