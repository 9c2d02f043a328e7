import { randomBytes, randomUUID } from 'node:crypto';

import { afterAll, beforeAll, describe, expect, test } from 'vitest';

import { decisionStatement } from '#contracts/decision';
import type { ProposedDecision } from '#contracts/decision';
import { createPublicVerifier, publicKeyOf } from '#signing';
import { hashOf } from './domain/checked-token.ts';
import { context, createAuthWorld, soon } from './world.testing.ts';
import type { AuthWorld, Person } from './world.testing.ts';

let world: AuthWorld;
beforeAll(async () => {
  world = await createAuthWorld();
});
afterAll(() => world[Symbol.asyncDispose]());

const proposed = (more: Partial<ProposedDecision> = {}): ProposedDecision => ({
  approvalId: randomUUID(),
  gapDigest: 'a'.repeat(64),
  requestDigest: 'b'.repeat(64),
  as: 'ancestor',
  resolution: 'allow',
  patterns: [],
  cascade: false,
  acknowledge: null,
  ...more,
});
const remembered = (more: Partial<ProposedDecision> = {}) =>
  proposed({ resolution: 'allow_remember', patterns: ['github:*:*'], ...more });

interface Asked {
  readonly token: string;
  readonly proposed?: ProposedDecision;
  readonly ttl?: string | null;
  readonly forever?: boolean;
}

async function sign({ token, proposed: what = proposed(), ttl = null, forever = false }: Asked) {
  const kind = token.startsWith('ses_') ? ('session' as const) : ('bearer' as const);
  const request = { kind, token, proposed: what, ttl, forever };
  const { decision } = await world.client.signDecision(request, soon());
  const publicKey = publicKeyOf(world.environment.keys.DECISION_KEY);
  return createPublicVerifier('decision', publicKey, decisionStatement).verify(decision);
}

/** Signed in by an OAuth client that acts as the agent. */
async function byClient(agent: Person, selfApproves: boolean): Promise<Person> {
  const clientId = randomUUID();
  const grantId = randomUUID();
  const token = randomBytes(32).toString('base64url');
  const { orgId, id: agentId, claims } = agent;
  await world.db`
    insert into auth.oauth_client (id, kind, name, redirect_uris)
    values (${clientId}, 'registered', 'Editor', ${['http://127.0.0.1/cb']})
  `;
  await world.db`
    insert into auth.oauth_binding (org_id, user_id, client_id, agent_id, self_approve_enabled)
    values (${orgId}, ${claims.userId}, ${clientId}, ${agentId}, ${selfApproves})
  `;
  await world.db`
    insert into auth.oauth_grant
      (id, org_id, user_id, identity_id, client_id, scopes, resource, expires_at)
    values (${grantId}, ${orgId}, ${claims.userId}, ${agentId}, ${clientId}, ${['mcp']},
            'https://gateway.test/mcp', now() + interval '1 day')
  `;
  await world.db`
    insert into auth.oauth_token (hash, id, kind, org_id, grant_id, payload, expires_at)
    values (${hashOf(token)}, ${randomUUID()}, 'access', ${orgId}, ${grantId}, ${world.db.json({ scope: 'mcp' })},
            now() + interval '1 hour')
  `;
  return world.renew({ ...agent, token });
}

describe('a decision', () => {
  test('says who decides by the credential that came with it, and what is decided', async () => {
    const ann = await world.user({ name: 'ann', role: 'admin' });
    const bot = await world.agent(ann, 'bot');
    const what = proposed();
    const before = Date.now();

    const byUser = await sign({ token: ann.token, proposed: what });
    expect(byUser).toMatchObject({
      ...what,
      orgId: ann.orgId,
      deciderId: ann.id,
      deciderKind: 'user',
      role: 'admin',
      clientId: null,
      expiresAt: null,
    });
    expect(byUser.at).toBeGreaterThanOrEqual(before);
    expect(await sign({ token: bot.token })).toMatchObject({
      deciderId: bot.id,
      deciderKind: 'agent',
      role: null,
    });
    expect((await sign({ token: ann.token })).jti).not.toBe(byUser.jti);
  });

  test('is signed for no credential that is not good', async () => {
    const ann = await world.user({ name: 'ann', role: 'member' });
    const bot = await world.agent(ann, 'bot');
    const gone = bot.token;
    await world.client.revokeIdentity({ principal: ann.principal, id: bot.id, context }, soon());

    for (const token of [gone, `ses_${'x'.repeat(40)}`, ann.principal.slice(0, 500)]) {
      await expect(sign({ token })).rejects.toMatchObject({ code: 'unauthenticated' });
    }
  });

  test('of a requester on itself is signed only for a client whose switch is on', async () => {
    const ann = await world.user({ name: 'ann', role: 'member' });
    const bot = await world.agent(ann, 'bot');
    for (const { token } of [ann, bot]) {
      await expect(sign({ token, proposed: proposed({ as: 'self' }) })).rejects.toMatchObject({
        code: 'self_approval_disabled',
      });
    }
    const off = await byClient(bot, false);
    await expect(
      sign({ token: off.token, proposed: proposed({ as: 'self' }) }),
    ).rejects.toMatchObject({ code: 'self_approval_disabled' });

    const on = await byClient(bot, true);
    const { clientId } = on.claims.credential;
    expect(await sign({ token: on.token, proposed: proposed({ as: 'self' }) })).toMatchObject({
      as: 'self',
      deciderId: bot.id,
      clientId,
    });
  });

  test('of a requester on itself is remembered for as long as the org lets it, and no longer', async () => {
    const ann = await world.user({ name: 'ann', role: 'member' });
    const { token } = await byClient(await world.agent(ann, 'bot'), true);
    await world.db`
      update auth.org set self_remember_max_seconds = 3600 where id = ${ann.orgId}
    `;
    const itself = { token, proposed: remembered({ as: 'self' }) };

    for (const asked of [{ ttl: '61m' }, { forever: true }]) {
      await expect(sign({ ...itself, ...asked })).rejects.toMatchObject({
        code: 'exceeds_authority',
        details: { max_ttl_seconds: 3600 },
      });
    }
    for (const ttl of [null, '1h']) {
      const { at, expiresAt } = await sign({ ...itself, ttl });
      expect((expiresAt ?? 0) - at).toBe(3_600_000);
    }
  });

  test('is signed only for a credential that may decide approvals', async () => {
    const ann = await world.user({ name: 'ann', role: 'member' });
    const { token, claims } = await byClient(await world.agent(ann, 'bot'), false);
    await world.db`
      update auth.oauth_token set payload = ${world.db.json({ scope: 'actions:call' })}
       where id = ${claims.credential.id}
    `;
    // What auth knows of a credential it keeps for half a second.
    await expect
      .poll(() => sign({ token }).catch(({ code }: { code: string }) => code))
      .toBe('insufficient_scope');
  });

  test.for<[how: string, asked: Partial<Asked>, seconds: number | null]>([
    ['for the time given', { ttl: '24h' }, 86_400],
    ["for the org's time", {}, 30 * 86_400],
    ['for the time given, although for ever', { ttl: '1h', forever: true }, 3_600],
    ['for ever', { forever: true }, null],
  ])('is remembered %s', async ([, asked, seconds]) => {
    const ann = await world.user({ name: 'ann', role: 'member' });
    const { at, expiresAt } = await sign({ token: ann.token, proposed: remembered(), ...asked });

    expect(expiresAt && (expiresAt - at) / 1000).toBe(seconds);
  });

  test('is not remembered for a time that is none', async () => {
    const { token } = await world.user({ name: 'ann', role: 'member' });
    for (const ttl of ['9999d', '1s', 'soon']) {
      await expect(sign({ token, proposed: remembered(), ttl })).rejects.toMatchObject({
        code: 'invalid_params',
      });
    }
  });
});

test('public keys are listed with when they were in use', async () => {
  const publicKey = publicKeyOf(world.environment.keys.DECISION_KEY);
  await world.db`
    insert into auth.decision_key (id, public_key, used_from)
    values ('old', 'older-key', now() - interval '1 day')
  `;
  await using _replica = await world.startReplica();
  const { keys } = await world.client.listPublicKeys({}, soon());

  expect(keys).toMatchObject([
    { use: 'decision', algorithm: 'Ed25519', public_key: publicKey, used_until: null },
    { id: 'old', used_until: expect.stringMatching(/Z$/) },
  ]);
});
