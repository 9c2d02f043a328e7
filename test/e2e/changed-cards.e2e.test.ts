import { afterAll, beforeAll, describe, expect, test } from 'vitest';

import { createAgent, created, startWorld, until } from './support/world.ts';
import type { Agent, World } from './support/world.ts';

// Somebody with the rights of approvals in the database, or of its superuser, changes what people
// are shown, what they allow, or what is to be run.

describe('an approval whose row was changed', () => {
  let world: World;
  let agent: Agent;
  beforeAll(async () => {
    world = await startWorld();
    agent = await createAgent(world.url, world.admin, 'bot');
  });
  afterAll(() => world[Symbol.asyncDispose]());

  let calls = 0;
  async function suspend(): Promise<{ id: string; path: string }> {
    calls += 1;
    const path = `/changed/${calls}`;
    const url = world.upstream.url + path;
    const target = { service: 'http', method: 'POST', url, body: { amount: 1 } };
    const called = created(await agent.post('/v1/actions/call', target));
    return { id: called.approval_id, path };
  }
  const get = async (id: string) => created(await world.admin.get(`/v1/approvals/${id}`));
  const resolve = (id: string, body: object) =>
    world.admin.post(`/v1/approvals/${id}/resolve`, body);
  const sentTo = (path: string) => world.upstream.hits.filter(({ url }) => url === path).length;

  test('is verified while it was not, and runs when it is allowed', async () => {
    const { id, path } = await suspend();
    expect(await get(id)).toMatchObject({ verified: true });
    expect(created(await resolve(id, { resolution: 'allow' }))).toMatchObject({ verified: true });
    await until(() => sentTo(path) === 1, 'the call to be sent');
  });

  test('is decided by a key that anybody can read', async () => {
    const reply = await fetch(`${world.url}/.well-known/action-gateway-keys`);
    expect(reply.status).toBe(200);
    expect(await reply.json()).toMatchObject({
      keys: [{ public_key: world.environment['DECISION_PUBLIC_KEY'], used_until: null }],
    });
  });

  test.for([
    ['the request', `card = replace(card, '"amount":1', '"amount":2')`],
    ['the sentence', `card = replace(card, '"description":"', '"description":"Only ')`],
    [
      'the tiers',
      `card = replace(card, '"suggestedTiers":[{"keys":[', '"suggestedTiers":[{"keys":["http:*:*",')`,
    ],
    [
      'the name of who asks',
      `card = jsonb_set(card::jsonb, '{requester,path}', '["admin", "trusted"]')::text`,
    ],
    [
      'the name of where a rule would stand',
      `card = jsonb_set(card::jsonb, '{placement,name}', '"trusted"')::text`,
    ],
    ['the risk', `risk = 'read'`],
    ['the service', `service = 'calendar'`],
    ['the template', `card = jsonb_set(card::jsonb, '{template}', '"calendar"')::text`],
    ['the action', `card = jsonb_set(card::jsonb, '{action}', '"GET"')::text`],
    [
      'the parts of its keys',
      `card = jsonb_set(card::jsonb, '{derivedKeys,0,arg}', '"harmless.example/"')::text`,
    ],
    ['the time of the call', `created_at = created_at - interval '1 hour'`],
    ['whether it runs at once', `auto_call_on_approve = not auto_call_on_approve`],
    ['the digest of the request', `request_digest = repeat('a', 64)`],
    ['the digest of the gap', `gap_digest = repeat('a', 64)`],
    ['the proof itself', `card_mac = 'abcdefghijkl:' || repeat('A', 43)`],
  ] as const)('in %s says so, and can be denied and not allowed', async ([, change]) => {
    const { id, path } = await suspend();
    await world.tables.query(`update approvals.approval set ${change} where id = $1`, [id]);

    expect(await get(id)).toMatchObject({ status: 'pending', verified: false });
    const { items } = created(await world.admin.get('/v1/approvals?status=open'));
    expect(items.find((item: { id: string }) => item.id === id)).toMatchObject({ verified: false });
    for (const resolution of ['allow', 'allow_remember']) {
      const { status, body } = await resolve(id, { resolution });
      expect([status, body.error]).toEqual([409, 'card_not_verified']);
    }
    expect(created(await resolve(id, { resolution: 'deny' }))).toMatchObject({ status: 'denied' });
    expect(sentTo(path)).toBe(0);
  });

  test('into that of another call shows the other one, and runs neither', async () => {
    const [one, other] = [await suspend(), await suspend()];
    await world.tables.query(
      `update approvals.approval a
          set card = o.card, card_mac = o.card_mac, gap_digest = o.gap_digest,
              request_digest = o.request_digest
         from approvals.approval o
        where a.id = $1
          and o.id = $2`,
      [one.id, other.id],
    );
    // A card names its approval, so another's does not hold here.
    const shown = await get(one.id);
    expect(shown).toMatchObject({ verified: false });
    expect(shown.request.url).toContain(other.path);

    const { status, body } = await resolve(one.id, { resolution: 'allow' });
    expect([status, body.error]).toEqual([409, 'card_not_verified']);
    expect(sentTo(one.path) + sentTo(other.path)).toBe(0);
  });

  test.for([
    ['to allow it', { resolution: 'allow' }],
    ['to remember it', { resolution: 'allow_remember' }],
  ] as const)(
    'into another call while it was looked at is not what was asked: %s',
    async ([, body]) => {
      const [shown, other] = [await suspend(), await suspend()];
      expect(await get(shown.id)).toMatchObject({ verified: true });
      // All that approvals stores of a call; its gap and its proof are genuine.
      await world.tables.query(
        `update approvals.approval a
          set card = o.card, card_mac = o.card_mac, gap_digest = o.gap_digest, gap = o.gap,
              gap_id = o.gap_id, request_digest = o.request_digest, sealed_call = o.sealed_call
         from approvals.approval o
        where a.id = $1
          and o.id = $2`,
        [shown.id, other.id],
      );

      const answer = await resolve(shown.id, body);
      expect([answer.status, answer.body.error]).toEqual([409, 'card_not_verified']);
      const { items } = created(await world.admin.get('/v1/rules'));
      expect(items).toEqual([]);
    },
  );

  test('into an allowed one runs nothing: nobody decided it', async () => {
    const { id, path } = await suspend();
    await world.tables.query(
      `update approvals.approval
          set status = 'allowed', resolution = 'allow', resolved_at = now(),
              resolved_by_id = user_id, decision = 'forged.forged:forged-forged'
        where id = $1`,
      [id],
    );
    await world.tables.query(
      `insert into approvals.execution
         (id, org_id, approval_id, status, runtime, automatic, expires_at)
       select gen_random_uuid(), org_id, id, 'pending', 'http', true,
              now() + interval '15 minutes'
         from approvals.approval
        where id = $1`,
      [id],
    );
    await until(
      async () => (await get(id)).execution?.status === 'failed',
      'the execution to be refused',
    );
    expect((await get(id)).execution.error.error).toBe('unauthenticated');
    expect(sentTo(path)).toBe(0);
  });
});
