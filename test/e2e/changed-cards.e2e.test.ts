import { afterAll, beforeAll, describe, expect, test } from 'vitest';

import { createAgent, successfulBodyOf, startWorld, pollUntil } from '../support/world.ts';
import type { Agent, World } from '../support/world.ts';

// An attacker with write access to the tables of approvals tries to change what people see, what
// they allow, or what is sent.

describe('an approval when an attacker can write to its table', () => {
  let world: World;
  let agent: Agent;
  beforeAll(async () => {
    world = await startWorld();
    agent = await createAgent(world.url, world.admin, 'bot');
  });
  afterAll(() => world[Symbol.asyncDispose]());

  let callCount = 0;
  async function suspendCall(): Promise<{ id: string; path: string }> {
    callCount += 1;
    const path = `/changed/${callCount}`;
    const url = world.upstream.url + path;
    const target = { service: 'http', method: 'POST', url, body: { amount: 1 } };
    const callAnswer = successfulBodyOf(await agent.post('/v1/actions/call', target));
    return { id: callAnswer.approval_id, path };
  }
  const getApproval = async (id: string) =>
    successfulBodyOf(await world.admin.get(`/v1/approvals/${id}`));
  const resolveApproval = (id: string, body: object) =>
    world.admin.post(`/v1/approvals/${id}/resolve`, body);
  const countHitsAt = (path: string) =>
    world.upstream.hits.filter(({ url }) => url === path).length;

  test('is shown as verified while it is unchanged, and runs when it is allowed', async () => {
    const { id, path } = await suspendCall();
    expect(await getApproval(id)).toMatchObject({ verified: true });
    expect(successfulBodyOf(await resolveApproval(id, { resolution: 'allow' }))).toMatchObject({
      verified: true,
    });
    await pollUntil(() => countHitsAt(path) === 1, 'the call to be sent');
  });

  test('has a decision that anyone can verify with the published key', async () => {
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
      'the suggested rules (tiers)',
      `card = replace(card, '"suggestedTiers":[{"keys":[', '"suggestedTiers":[{"keys":["http:*:*",')`,
    ],
    [
      'the name of the requester',
      `card = jsonb_set(card::jsonb, '{requester,path}', '["admin", "trusted"]')::text`,
    ],
    [
      'the name of the identity that gets a remembered rule',
      `card = jsonb_set(card::jsonb, '{placement,name}', '"trusted"')::text`,
    ],
    ['the risk', `risk = 'read'`],
    ['the service', `service = 'calendar'`],
    ['the template', `card = jsonb_set(card::jsonb, '{template}', '"calendar"')::text`],
    ['the action', `card = jsonb_set(card::jsonb, '{action}', '"GET"')::text`],
    [
      'the parts of the permission keys',
      `card = jsonb_set(card::jsonb, '{derivedKeys,0,arg}', '"harmless.example/"')::text`,
    ],
    ['the time of the call', `created_at = created_at - interval '1 hour'`],
    ['the setting that runs the call at once', `auto_call_on_approve = not auto_call_on_approve`],
    ['the digest of the request', `request_digest = repeat('a', 64)`],
    ['the digest of the permission gap', `gap_digest = repeat('a', 64)`],
    ['the MAC of the card', `card_mac = 'abcdefghijkl:' || repeat('A', 43)`],
  ] as const)(
    'is shown as not verified after a change to %s, and can be denied but not allowed',
    async ([, change]) => {
      const { id, path } = await suspendCall();
      await world.tables.query(`update approvals.approval set ${change} where id = $1`, [id]);

      expect(await getApproval(id)).toMatchObject({ status: 'pending', verified: false });
      const { items } = successfulBodyOf(await world.admin.get('/v1/approvals?status=open'));
      expect(items.find((item: { id: string }) => item.id === id)).toMatchObject({
        verified: false,
      });
      for (const resolution of ['allow', 'allow_remember']) {
        const { status, body } = await resolveApproval(id, { resolution });
        expect([status, body.error]).toEqual([409, 'card_not_verified']);
      }
      expect(successfulBodyOf(await resolveApproval(id, { resolution: 'deny' }))).toMatchObject({
        status: 'denied',
      });
      expect(countHitsAt(path)).toBe(0);
    },
  );

  test('is shown as not verified when it has the card of another call, and neither call runs', async () => {
    const [one, other] = [await suspendCall(), await suspendCall()];
    await world.tables.query(
      `update approvals.approval a
          set card = o.card, card_mac = o.card_mac, gap_digest = o.gap_digest,
              request_digest = o.request_digest
         from approvals.approval o
        where a.id = $1
          and o.id = $2`,
      [one.id, other.id],
    );
    // A card contains the id of its approval, so a card that was copied from another approval is
    // not verified.
    const shownCard = await getApproval(one.id);
    expect(shownCard).toMatchObject({ verified: false });
    expect(shownCard.request.url).toContain(other.path);

    const { status, body } = await resolveApproval(one.id, { resolution: 'allow' });
    expect([status, body.error]).toEqual([409, 'card_not_verified']);
    expect(countHitsAt(one.path) + countHitsAt(other.path)).toBe(0);
  });

  test.for([
    ['when the person allows it', { resolution: 'allow' }],
    ['when the person allows and remembers it', { resolution: 'allow_remember' }],
  ] as const)(
    'is refused %s, if its call was exchanged while the person looked at it',
    async ([, body]) => {
      const [shownCard, other] = [await suspendCall(), await suspendCall()];
      expect(await getApproval(shownCard.id)).toMatchObject({ verified: true });
      // Copies everything that the component approvals stores about the other call, including its
      // genuine permission gap and MAC.
      await world.tables.query(
        `update approvals.approval a
          set card = o.card, card_mac = o.card_mac, gap_digest = o.gap_digest, gap = o.gap,
              gap_id = o.gap_id, request_digest = o.request_digest, sealed_call = o.sealed_call
         from approvals.approval o
        where a.id = $1
          and o.id = $2`,
        [shownCard.id, other.id],
      );

      const answer = await resolveApproval(shownCard.id, body);
      expect([answer.status, answer.body.error]).toEqual([409, 'card_not_verified']);
      const { items } = successfulBodyOf(await world.admin.get('/v1/rules'));
      expect(items).toEqual([]);
    },
  );

  test('runs nothing when its status is changed to allowed, because nobody signed a decision', async () => {
    const { id, path } = await suspendCall();
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
    await pollUntil(
      async () => (await getApproval(id)).execution?.status === 'failed',
      'the execution to be refused',
    );
    expect((await getApproval(id)).execution.error.error).toBe('unauthenticated');
    expect(countHitsAt(path)).toBe(0);
  });
});
