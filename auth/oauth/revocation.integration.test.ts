import { setTimeout as sleep } from 'node:timers/promises';

import { afterAll, beforeAll, describe, expect, test } from 'vitest';

import { createCallerWithKey } from '../../test/support/http.ts';
import { createAuthorizationRequest, startOauthWorld } from '../../test/support/oauth-world.ts';
import type { OauthWorld, SignedIn, Tokens } from '../../test/support/oauth-world.ts';
import { chooseSweepValue } from '../../test/support/sweeps.ts';

let world: OauthWorld;
beforeAll(async () => {
  world = await startOauthWorld({ authReplicas: 3, gateways: 2 });
});
afterAll(() => world[Symbol.asyncDispose]());

type SignedInClient = Tokens & { clientId: string };

/** The status of a request with this access token at each gateway. */
const gatewayStatusesOf = async ({ access_token: token }: Tokens) =>
  Promise.all(
    world.urls.map(
      async (url) => (await createCallerWithKey(url, token).get('/v1/identities/me')).status,
    ),
  );
const refreshTokens = ({ clientId, refresh_token: refreshToken }: SignedInClient) =>
  world.post('/oauth/token', {
    grant_type: 'refresh_token',
    client_id: clientId,
    refresh_token: refreshToken,
  });

/**
 * Every gateway refuses the token within a second (docs/reference/identities.md#lifetimes). The
 * fast suite measures no time: it only distinguishes a cached token from a revoked one.
 */
const refusedWithinMs = chooseSweepValue({ sampled: 20_000, whole: 1_000 });

async function expectRefused(tokens: Tokens, { status = 401, withinMs = refusedWithinMs } = {}) {
  const endedAt = performance.now();
  for (;;) {
    // Measured until the refused requests are sent, because a busy machine may answer slowly.
    const sentAt = performance.now();
    const now = await gatewayStatusesOf(tokens);
    if (now.every((each) => each === status)) return;
    expect(sentAt - endedAt, now.join()).toBeLessThan(withinMs);
    await sleep(20);
  }
}

/**
 * A test that changes tables directly causes no event, so the test must wait until the cached
 * answers expire.
 */
const withoutEventOptions = { withinMs: chooseSweepValue({ sampled: 20_000, whole: 3_000 }) };

async function signInNewClient(person?: SignedIn): Promise<SignedInClient & { person: SignedIn }> {
  const owner = person ?? (await world.person());
  const tokens = await world.signInClient(owner);
  expect(await gatewayStatusesOf(tokens)).toEqual([200, 200]);
  return { ...tokens, person: owner };
}

async function agentIdOf(person: SignedIn): Promise<string> {
  const [row] = await world.db<{ agent_id: string }[]>`
    select agent_id from auth.oauth_binding where user_id = ${person.id}`;
  return row?.agent_id ?? '';
}

describe('every gateway refuses an access token,', () => {
  test('when its refresh token was revoked', async () => {
    const client = await signInNewClient();
    const { clientId, refresh_token: token } = client;
    const reply = await world.post('/oauth/revoke', { client_id: clientId, token }, world.urls[1]);
    expect(reply.status).toBe(200);
    await expectRefused(client);
    expect((await refreshTokens(client)).body.error).toBe('invalid_grant');
  });

  test('when the access token itself was revoked, while its refresh token stays valid', async () => {
    const client = await signInNewClient();
    const { clientId, access_token: token } = client;
    await world.post('/oauth/revoke', {
      client_id: clientId,
      token,
      token_type_hint: 'access_token',
    });
    await expectRefused(client);
    expect((await refreshTokens(client)).status).toBe(200);
  });

  test('when its refresh token was used twice', async () => {
    const client = await signInNewClient();
    await refreshTokens(client);
    await refreshTokens(client);
    await expectRefused(client);
  });

  test('when its agent was revoked', async () => {
    const client = await signInNewClient();
    const agent = await agentIdOf(client.person);
    expect((await client.person.post(`/v1/identities/${agent}/revoke`)).status).toBe(200);
    await expectRefused(client);
    expect((await refreshTokens(client)).body.error).toBe('invalid_grant');
    expect(await agentIdOf(client.person)).toBe('');
  });

  test('when its user was revoked, together with all other tokens of that user', async () => {
    const admin = await world.person({ role: 'admin' });
    const user = await world.person({ orgId: admin.orgId, name: 'leaver' });
    const [one, other] = [await signInNewClient(user), await signInNewClient(user)];
    expect((await admin.post(`/v1/identities/${user.id}/revoke`)).status).toBe(200);
    await expectRefused(one);
    await expectRefused(other);
    expect((await refreshTokens(other)).body.error).toBe('invalid_grant');
  });

  test('while its agent is archived, and auth then refuses to refresh the token', async () => {
    const client = await signInNewClient();
    const agent = await agentIdOf(client.person);
    const setStatus = (status: string) =>
      world.db`update auth.identity set status = ${status} where id = ${agent}`;
    await setStatus('archived');
    await expectRefused(client, { status: 403, ...withoutEventOptions });
    expect((await refreshTokens(client)).body.error).toBe('invalid_grant');

    await setStatus('active');
    const secondRefresh = await refreshTokens(client);
    expect(secondRefresh.status).toBe(200);
    expect(await gatewayStatusesOf(secondRefresh.body)).toEqual([200, 200]);
  });

  test('when its agent has expired', async () => {
    const client = await signInNewClient();
    const agent = await agentIdOf(client.person);
    await world.db`update auth.identity set expires_at = now() where id = ${agent}`;
    await expectRefused(client, withoutEventOptions);
    expect((await refreshTokens(client)).body.error).toBe('invalid_grant');
  });

  test('when an admin revoked its client for the org, but only in that org', async () => {
    const [ann, bob] = [await signInNewClient(), await world.person()];
    const otherClient = await world.signInClient(bob, { clientId: ann.clientId });
    await world.db`
      insert into auth.oauth_client_revocation (org_id, client_id, revoked_by)
      values (${ann.person.orgId}, ${ann.clientId}, ${ann.person.id})`;
    await expectRefused(ann, withoutEventOptions);
    expect((await refreshTokens(ann)).body.error).toBe('invalid_grant');
    for (const parameters of [{}, { prompt: 'consent' }, { prompt: 'none' }]) {
      const { url } = createAuthorizationRequest(world.url, {
        client_id: ann.clientId,
        ...parameters,
      });
      const { leavesTo } = await ann.person.browser.open(url);
      expect(leavesTo?.searchParams.get('error')).toBe('access_denied');
    }
    expect(await gatewayStatusesOf(otherClient)).toEqual([200, 200]);
  });

  test('while the allow list of the org has neither the name nor the software id of its client', async () => {
    const client = await signInNewClient();
    const { orgId } = client.person;
    const setAllowList = (list: string[] | null) => world.db`
      update auth.org set oauth_client_allow_list = ${list} where id = ${orgId}`;
    await setAllowList(['Another Client']);
    await expectRefused(client, withoutEventOptions);
    const { url } = createAuthorizationRequest(world.url, { client_id: client.clientId });
    const { leavesTo } = await client.person.browser.open(url);
    expect(leavesTo?.searchParams.get('error')).toBe('access_denied');

    const [row] = await world.db<{ name: string }[]>`
      select name from auth.oauth_client where id = ${client.clientId}`;
    await setAllowList(['Another Client', row?.name ?? '']);
    await expect.poll(() => gatewayStatusesOf(client)).toEqual([200, 200]);
    await setAllowList(['software-1']);
    await expectRefused(client, withoutEventOptions);
    await world.db`
      update auth.oauth_client set software_id = 'software-1' where id = ${client.clientId}`;
    await expect.poll(() => gatewayStatusesOf(client)).toEqual([200, 200]);
    expect((await refreshTokens(client)).status).toBe(200);
  });

  test('fifteen minutes after it was issued', async () => {
    const client = await signInNewClient();
    await world.db`
      update auth.oauth_token set expires_at = now() where kind = 'access'`;
    await expectRefused(client, withoutEventOptions);
    expect((await refreshTokens(client)).status).toBe(200);
  });
});

describe('a revocation of a token', () => {
  test('is no error for an unknown token or a token of another client, and then changes nothing', async () => {
    const client = await signInNewClient();
    const other = await world.register();
    for (const token of ['x'.repeat(43), '', client.refresh_token]) {
      const reply = await world.post('/oauth/revoke', { client_id: other, token: token || 'x' });
      expect(reply.status).toBe(200);
    }
    expect((await refreshTokens(client)).status).toBe(200);
  });

  test('writes an audit entry with the client, the user and the agent', async () => {
    const client = await signInNewClient();
    await world.post('/oauth/revoke', { client_id: client.clientId, token: client.refresh_token });
    const rows = await world.db<{ type: string; body: string }[]>`
      select type, body from auth.outbox where org_id = ${client.person.orgId} order by id`;
    expect(rows.map(({ type }) => type)).toEqual([
      'identity.created',
      'mcp_connection.changed',
      'oauth_grant.created',
      'oauth_grant.revoked',
    ]);
    const { data, audit } = JSON.parse(rows.at(-1)?.body ?? '');
    expect(data).toMatchObject({ client_id: client.clientId, user_id: client.person.id });
    expect(audit).toMatchObject({
      user_id: client.person.id,
      identity: { kind: 'agent', path: ['ann', 'test-client'] },
      ip: '127.0.0.1',
    });
    expect(audit.request_id).toMatch(/^[0-9a-f-]{36}$/);
  });

  test('is not caused by the end of a session', async () => {
    const client = await signInNewClient();
    await client.person.post('/v1/sign-out');
    const { url } = createAuthorizationRequest(world.url, { client_id: client.clientId });
    await expect
      .poll(async () => {
        const reply = await fetch(url, {
          redirect: 'manual',
          headers: { cookie: `gateway_session=${client.person.sessionToken}` },
        });
        return reply.headers.get('location');
      })
      .toMatch(/^\/sign-in\?return_to=/);
    expect(await gatewayStatusesOf(client)).toEqual([200, 200]);
  });
});

describe('with a grace period for used refresh tokens,', () => {
  test('two processes that refresh the same login at once can both continue', async () => {
    await using lenientWorld = await startOauthWorld({
      settings: { REFRESH_REUSE_GRACE_SECONDS: '10' },
    });
    const client = await lenientWorld.signInClient(await lenientWorld.person());
    const refresh = async (refreshToken: string): Promise<Tokens> => {
      const { status, body } = await lenientWorld.post('/oauth/token', {
        grant_type: 'refresh_token',
        client_id: client.clientId,
        refresh_token: refreshToken,
      });
      expect(status).toBe(200);
      return body;
    };
    const [first, second] = await Promise.all(
      [client, client].map((same) => refresh(same.refresh_token)),
    );

    for (const tokens of [first, second] as Tokens[]) {
      const caller = createCallerWithKey(lenientWorld.url, tokens.access_token);
      expect((await caller.get('/v1/identities/me')).status).toBe(200);
    }
    await refresh((second as Tokens).refresh_token);
  });

  test('the previous refresh token works for a short time, but an older refresh token ends the grant', async () => {
    await using lenientWorld = await startOauthWorld({
      settings: { REFRESH_REUSE_GRACE_SECONDS: '30' },
    });
    const client = await lenientWorld.signInClient(await lenientWorld.person());
    const useRefreshToken = (refreshToken: string) =>
      lenientWorld.post('/oauth/token', {
        grant_type: 'refresh_token',
        client_id: client.clientId,
        refresh_token: refreshToken,
      });
    const lostAnswer = await useRefreshToken(client.refresh_token);
    const secondRefresh = await useRefreshToken(client.refresh_token);
    expect([lostAnswer.status, secondRefresh.status]).toEqual([200, 200]);

    const newestReply = await useRefreshToken(secondRefresh.body.refresh_token);
    expect(newestReply.status).toBe(200);
    expect((await useRefreshToken(client.refresh_token)).body.error).toBe('invalid_grant');
    expect((await useRefreshToken(newestReply.body.refresh_token)).body.error).toBe(
      'invalid_grant',
    );
  });
});
