import { randomBytes, randomUUID } from 'node:crypto';

import { afterAll, beforeAll, describe, expect, test } from 'vitest';

import { decisionStatement } from '#contracts/decision';
import type { ProposedDecision } from '#contracts/decision';
import { createPublicVerifier, publicKeyOf } from '#signing';
import { hashToken } from '../credentials/domain/checked-token.ts';
import { context, createAuthWorld, testDeadline } from '../world.testing.ts';
import type { AuthWorld, Person } from '../world.testing.ts';

let world: AuthWorld;
beforeAll(async () => {
  world = await createAuthWorld();
});
afterAll(() => world[Symbol.asyncDispose]());

const createProposedDecision = (overrides: Partial<ProposedDecision> = {}): ProposedDecision => ({
  approvalId: randomUUID(),
  gapDigest: 'a'.repeat(64),
  requestDigest: 'b'.repeat(64),
  as: 'ancestor',
  resolution: 'allow',
  patterns: [],
  cascade: false,
  acknowledge: null,
  ...overrides,
});
const createRememberedDecision = (overrides: Partial<ProposedDecision> = {}) =>
  createProposedDecision({ resolution: 'allow_remember', patterns: ['github:*:*'], ...overrides });

interface SignRequest {
  readonly token: string;
  readonly proposed?: ProposedDecision;
  readonly ttl?: string | null;
  readonly forever?: boolean;
}

async function signAndVerify({
  token,
  proposed: proposedDecision = createProposedDecision(),
  ttl = null,
  forever = false,
}: SignRequest) {
  const kind = token.startsWith('ses_') ? ('session' as const) : ('bearer' as const);
  const request = { kind, token, proposed: proposedDecision, ttl, forever };
  const { decision } = await world.client.signDecision(request, testDeadline());
  const publicKey = publicKeyOf(world.environment.keys.DECISION_KEY);
  return createPublicVerifier('decision', publicKey, decisionStatement).verify(decision);
}

/** Returns the agent with another credential: an access token of an OAuth client. */
async function withClientToken(agent: Person, selfApproves: boolean): Promise<Person> {
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
    values (${hashToken(token)}, ${randomUUID()}, 'access', ${orgId}, ${grantId}, ${world.db.json({ scope: 'mcp' })},
            now() + interval '1 hour')
  `;
  return world.renew({ ...agent, token });
}

describe('a signed decision', () => {
  test('names the owner of the credential as the decider, and the request that is decided', async () => {
    const ann = await world.user({ name: 'ann', role: 'admin' });
    const bot = await world.agent(ann, 'bot');
    const proposedDecision = createProposedDecision();
    const startedAtMs = Date.now();

    const userDecision = await signAndVerify({ token: ann.token, proposed: proposedDecision });
    expect(userDecision).toMatchObject({
      ...proposedDecision,
      orgId: ann.orgId,
      deciderId: ann.id,
      deciderKind: 'user',
      role: 'admin',
      clientId: null,
      expiresAt: null,
    });
    expect(userDecision.at).toBeGreaterThanOrEqual(startedAtMs);
    expect(await signAndVerify({ token: bot.token })).toMatchObject({
      deciderId: bot.id,
      deciderKind: 'agent',
      role: null,
    });
    expect((await signAndVerify({ token: ann.token })).jti).not.toBe(userDecision.jti);
  });

  test('is refused for an invalid credential', async () => {
    const ann = await world.user({ name: 'ann', role: 'member' });
    const bot = await world.agent(ann, 'bot');
    const oldToken = bot.token;
    await world.client.revokeIdentity(
      { principal: ann.principal, id: bot.id, context },
      testDeadline(),
    );

    for (const token of [oldToken, `ses_${'x'.repeat(40)}`, ann.principal.slice(0, 500)]) {
      await expect(signAndVerify({ token })).rejects.toMatchObject({ code: 'unauthenticated' });
    }
  });

  test("requires a client with self-approval for the decider's own request", async () => {
    const ann = await world.user({ name: 'ann', role: 'member' });
    const bot = await world.agent(ann, 'bot');
    for (const { token } of [ann, bot]) {
      await expect(
        signAndVerify({ token, proposed: createProposedDecision({ as: 'self' }) }),
      ).rejects.toMatchObject({
        code: 'self_approval_disabled',
      });
    }
    const untrustedAgent = await withClientToken(bot, false);
    await expect(
      signAndVerify({
        token: untrustedAgent.token,
        proposed: createProposedDecision({ as: 'self' }),
      }),
    ).rejects.toMatchObject({ code: 'self_approval_disabled' });

    const on = await withClientToken(bot, true);
    const { clientId } = on.claims.credential;
    expect(
      await signAndVerify({ token: on.token, proposed: createProposedDecision({ as: 'self' }) }),
    ).toMatchObject({
      as: 'self',
      deciderId: bot.id,
      clientId,
    });
  });

  test("remembers a rule for no longer than the org allows, for the decider's own request", async () => {
    const ann = await world.user({ name: 'ann', role: 'member' });
    const { token } = await withClientToken(await world.agent(ann, 'bot'), true);
    await world.db`
      update auth.org set self_remember_max_seconds = 3600 where id = ${ann.orgId}
    `;
    const selfRequest = { token, proposed: createRememberedDecision({ as: 'self' }) };

    for (const body of [{ ttl: '61m' }, { forever: true }]) {
      await expect(signAndVerify({ ...selfRequest, ...body })).rejects.toMatchObject({
        code: 'exceeds_authority',
        details: { max_ttl_seconds: 3600 },
      });
    }
    for (const ttl of [null, '1h']) {
      const { at, expiresAt } = await signAndVerify({ ...selfRequest, ttl });
      expect((expiresAt ?? 0) - at).toBe(3_600_000);
    }
  });

  test('requires a credential that may decide approvals', async () => {
    const ann = await world.user({ name: 'ann', role: 'member' });
    const { token, claims } = await withClientToken(await world.agent(ann, 'bot'), false);
    await world.db`
      update auth.oauth_token set payload = ${world.db.json({ scope: 'actions:call' })}
       where id = ${claims.credential.id}
    `;
    // Auth caches a credential with its scopes for half a second, so the refusal may come that much
    // later.
    await expect
      .poll(() => signAndVerify({ token }).catch(({ code }: { code: string }) => code))
      .toBe('insufficient_scope');
  });

  test.for<[how: string, asked: Partial<SignRequest>, seconds: number | null]>([
    ['for the given time', { ttl: '24h' }, 86_400],
    ['for the default time of the org', {}, 30 * 86_400],
    ['for the given time, even with forever', { ttl: '1h', forever: true }, 3_600],
    ['for ever', { forever: true }, null],
  ])('remembers a rule that lasts %s', async ([, asked, seconds]) => {
    const ann = await world.user({ name: 'ann', role: 'member' });
    const { at, expiresAt } = await signAndVerify({
      token: ann.token,
      proposed: createRememberedDecision(),
      ...asked,
    });

    expect(expiresAt && (expiresAt - at) / 1000).toBe(seconds);
  });

  test('is refused for an invalid ttl', async () => {
    const { token } = await world.user({ name: 'ann', role: 'member' });
    for (const ttl of ['9999d', '1s', 'soon']) {
      await expect(
        signAndVerify({ token, proposed: createRememberedDecision(), ttl }),
      ).rejects.toMatchObject({
        code: 'invalid_params',
      });
    }
  });
});

test('the list of public keys for signed decisions states when each key was in use', async () => {
  const publicKey = publicKeyOf(world.environment.keys.DECISION_KEY);
  await world.db`
    insert into auth.decision_key (id, public_key, used_from)
    values ('old', 'older-key', now() - interval '1 day')
  `;
  await using _replica = await world.startReplica();
  const { keys } = await world.client.listPublicKeys({}, testDeadline());

  expect(keys).toMatchObject([
    { use: 'decision', algorithm: 'Ed25519', public_key: publicKey, used_until: null },
    { id: 'old', used_until: expect.stringMatching(/Z$/) },
  ]);
});
