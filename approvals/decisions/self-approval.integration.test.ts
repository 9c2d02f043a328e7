import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';

import { decisionWords } from '#contracts/decision-words';
import type { ResolveApprovalBody } from '#contracts/http/approvals';
import type { Principal } from '#contracts/vocabulary';
import { sampleDecisions } from '../../test/support/decision-bodies.ts';
import { createWorld, testDeadline } from '../world.testing.ts';
import type { World } from '../world.testing.ts';

let world: World;
beforeAll(async () => {
  world = await createWorld();
});
afterAll(() => world[Symbol.asyncDispose]());
beforeEach(async () => {
  await world.clear();
  Object.assign(world.neighbours, { selfApproval: true, planted: [], permitRequests: [] });
  for (const person of [world.ann, world.bot, world.helper]) {
    Object.assign(person, { active: true, archived: false });
  }
});

const clientPrincipalFields: Partial<Principal> = {
  credential: { kind: 'access_token', id: '01890000-0000-7000-8000-000000000001', clientId: 'c' },
};
const resolveAs = async (
  deciderRole: 'self' | 'ancestor',
  person: World['bot'],
  { id, body }: { id: string; body: ResolveApprovalBody },
) =>
  world.client.resolve(
    {
      principal: world.as(person, clientPrincipalFields),
      id,
      as: deciderRole,
      body,
      context: world.context,
      decision: await world.allowOf(person, id, { as: deciderRole, body, clientId: 'c' }),
    },
    testDeadline(),
  );
const resolveItself = (id: string, body: ResolveApprovalBody) =>
  resolveAs('self', world.bot, { id, body });

describe('a requester with self-approval', () => {
  test('cannot allow a request that is too large to be shown whole', async () => {
    const { bot, suspend, get, neighbours } = world;
    neighbours.showsOutlines = true;
    const id = await suspend(bot);
    neighbours.showsOutlines = false;

    const allowingDecisions = Object.values(sampleDecisions).filter(
      ({ resolution }) => decisionWords[resolution].move === 'allow',
    );
    for (const body of allowingDecisions) {
      await expect(resolveItself(id, { ...body, acknowledge: 'too_large' })).rejects.toMatchObject({
        code: 'self_approval_disabled',
      });
    }
    expect((await get(bot, id)).status).toBe('pending');
    expect(await resolveItself(id, { resolution: 'deny' })).toMatchObject({ status: 'denied' });
  });

  test('allows its own call, which is replayed because of that decision', async () => {
    const { bot, suspend, get, until, neighbours, eventsOf } = world;
    const id = await suspend(bot);

    expect(await resolveItself(id, { resolution: 'allow' })).toMatchObject({
      status: 'allowed',
      relationship: 'self',
      resolved_by: { id: bot.id, path: ['ann', 'bot'] },
    });
    const endedApproval = await until(
      () => get(bot, id),
      ({ execution }) => execution?.status === 'executed',
    );
    expect(endedApproval.execution?.triggered_by).toBe('auto');
    expect(neighbours.permitRequests).toMatchObject([
      { decided: { approvalId: id, as: 'self', deciderId: bot.id, clientId: 'c' }, cascade: null },
    ]);
    const resolved = (await eventsOf(id)).find(({ type }) => type === 'approval.resolved');
    expect(resolved?.audit).toMatchObject({
      description: 'Allowed by itself: Create an issue',
      identity: { id: bot.id },
      credential: { kind: 'access_token', client_id: 'c' },
    });
  });

  test('can remember its decision, which does not cascade', async () => {
    const { ann, bot, suspend, get, neighbours } = world;
    const [id, also] = [await suspend(bot), await suspend(bot, { arg: 'acme/other' })];
    const resolved = await resolveItself(id, {
      resolution: 'allow_remember',
      remember_keys: ['github:issues.create:*'],
      ttl: '24h',
    });

    expect(resolved).toMatchObject({ status: 'allowed', cascaded_approval_ids: [] });
    expect((await get(ann, also)).status).toBe('pending');
    expect(neighbours.planted).toMatchObject([
      {
        gap: { placement: { id: bot.id } },
        decision: { as: 'self', clientId: 'c', cascade: false },
      },
    ]);
  });

  test('can deny and hand up like any other resolver', async () => {
    const { ann, bot, helper, suspend } = world;
    const [denied, bubbled] = [await suspend(bot), await suspend(helper, { covering: [bot] })];

    expect(await resolveItself(denied, { resolution: 'deny', reason: 'not needed' })).toMatchObject(
      {
        status: 'denied',
        reason: 'not needed',
        relationship: 'self',
      },
    );
    await expect(
      resolveItself(await suspend(bot, { arg: 'a/b' }), { resolution: 'bubble' }),
    ).rejects.toMatchObject({
      code: 'already_at_top',
    });
    expect(
      await resolveAs('self', helper, { id: bubbled, body: { resolution: 'bubble' } }),
    ).toMatchObject({ status: 'bubbled', resolver_id: ann.id, relationship: 'self' });
  });

  test('can decide at the same time as its ancestors; only one of twenty decisions counts', async () => {
    const { ann, bot, suspend, resolve } = world;
    const id = await suspend(bot, { auto: false });
    const settledDecisions = await Promise.allSettled(
      Array.from({ length: 20 }, (_, i) =>
        i % 2 === 0
          ? resolveItself(id, { resolution: 'allow' })
          : resolve(ann, id, { resolution: 'deny' }),
      ),
    );

    expect(settledDecisions.filter(({ status }) => status === 'fulfilled')).toHaveLength(1);
  });
});

describe('self-approval', () => {
  const allDecisions = Object.values(sampleDecisions);

  test.for(allDecisions)(
    'is refused while it is switched off, for the decision %j',
    async (body) => {
      const { bot, suspend, get, neighbours } = world;
      const id = await suspend(bot);
      neighbours.selfApproval = false;

      await expect(resolveItself(id, body)).rejects.toMatchObject({
        code: 'self_approval_disabled',
      });
      expect((await get(bot, id)).status).toBe('pending');
    },
  );

  test.for(allDecisions)(
    'is refused when the requester claims to decide as an ancestor, for the decision %j',
    async (body) => {
      const { bot, suspend } = world;
      const id = await suspend(bot);

      await expect(resolveAs('ancestor', bot, { id, body })).rejects.toMatchObject({
        code: 'self_approval_disabled',
      });
    },
  );

  test('is refused to ancestors, descendants, siblings and admins, even if it is switched on for them', async () => {
    const { ann, bot, helper, sibling, admin, bobsBot, suspend, get } = world;
    const id = await suspend(helper, { covering: [bot] });
    for (const person of [ann, bot, sibling, admin, bobsBot]) {
      await expect(
        resolveAs('self', person, { id, body: { resolution: 'allow' } }),
      ).rejects.toMatchObject({ code: 'not_in_your_chain' });
    }
    const ownApproval = await suspend(bot);
    for (const deciderRole of ['self', 'ancestor'] as const) {
      await expect(
        resolveAs(deciderRole, helper, { id: ownApproval, body: { resolution: 'allow' } }),
      ).rejects.toMatchObject({ code: 'not_in_your_chain' });
    }
    expect((await get(bot, ownApproval)).status).toBe('pending');
  });

  test('is refused to identities of another org, as if the approval did not exist', async () => {
    const { stranger, bot, suspend } = world;
    const id = await suspend(bot);

    await expect(
      resolveAs('self', stranger, { id, body: { resolution: 'allow' } }),
    ).rejects.toMatchObject({ code: 'not_found' });
  });

  test('is refused as soon as it is switched off, because every decision checks the switch', async () => {
    const { bot, suspend, neighbours } = world;
    const [first, second] = [await suspend(bot), await suspend(bot, { arg: 'acme/second' })];
    await resolveItself(first, { resolution: 'allow' });
    neighbours.selfApproval = false;

    await expect(resolveItself(second, { resolution: 'allow' })).rejects.toMatchObject({
      code: 'self_approval_disabled',
    });
  });
});

describe('the open approval of an archived requester', () => {
  test('stays open, may be denied, and may be allowed only after the requester is restored', async () => {
    const { ann, bot, helper, suspend, resolve, get, environment } = world;
    const [id, other] = [await suspend(helper), await suspend(helper, { arg: 'acme/other' })];
    bot.archived = true;
    const bus = await environment.connect('auth');
    bus.nats.publish(
      'evt.auth.identity.changed',
      JSON.stringify({
        id: '01890000-0000-7000-8000-000000000002',
        type: 'identity.changed',
        created_at: new Date().toISOString(),
        org_id: bot.orgId,
        audience: [ann.id, bot.id],
        data: { identity_id: bot.id },
        audit: null,
      }),
    );
    await bus.nats.flush();

    await expect(resolve(ann, id, { resolution: 'allow' })).rejects.toMatchObject({
      code: 'identity_archived',
    });
    expect((await get(ann, id)).status).toBe('pending');
    expect(await resolve(ann, other, { resolution: 'deny' })).toMatchObject({ status: 'denied' });

    bot.archived = false;
    expect(await resolve(ann, id, { resolution: 'allow' })).toMatchObject({ status: 'allowed' });
  });

  test('is not allowed by a cascade', async () => {
    const { ann, bot, helper, sibling, suspend, resolve, get } = world;
    const [id, waits] = [
      await suspend(sibling, { placement: bot }),
      await suspend(helper, { placement: bot }),
    ];
    helper.archived = true;

    expect(
      await resolve(ann, id, { resolution: 'allow_remember', remember_keys: ['github:*:*'] }),
    ).toMatchObject({ cascaded_approval_ids: [] });
    expect((await get(ann, waits)).status).toBe('pending');
  });
});
