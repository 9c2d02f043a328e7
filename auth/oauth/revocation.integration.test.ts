import { afterAll, beforeAll, describe, expect, test } from 'vitest';

import { withKey } from '../../test/support/http.ts';
import { authorization, startOauthWorld } from '../../test/support/oauth-world.ts';
import type { OauthWorld, SignedIn, Tokens } from '../../test/support/oauth-world.ts';

let world: OauthWorld;
beforeAll(async () => {
  world = await startOauthWorld({ authReplicas: 3, gateways: 2 });
});
afterAll(() => world[Symbol.asyncDispose]());

type SignedInClient = Tokens & { clientId: string };

/** What every gateway says to the access token; asked first, so that every cache knows it. */
const statuses = async ({ access_token: token }: Tokens) =>
  Promise.all(
    world.urls.map(async (url) => (await withKey(url, token).get('/v1/identities/me')).status),
  );
const refresh = ({ clientId, refresh_token: refreshToken }: SignedInClient) =>
  world.post('/oauth/token', {
    grant_type: 'refresh_token',
    client_id: clientId,
    refresh_token: refreshToken,
  });

/** Every gateway refuses the token within a second (docs/reference/identities.md#lifetimes). */
async function expectRefused(tokens: Tokens, { status = 401, timeout = 1_000 } = {}) {
  await expect.poll(() => statuses(tokens), { timeout, interval: 20 }).toEqual([status, status]);
}

/** What this file changes in the tables itself is announced by nobody: caches end by their age. */
const unannounced = { timeout: 3_000 };

async function signedIn(person?: SignedIn): Promise<SignedInClient & { person: SignedIn }> {
  const owner = person ?? (await world.person());
  const tokens = await world.signInClient(owner);
  expect(await statuses(tokens)).toEqual([200, 200]);
  return { ...tokens, person: owner };
}

async function agentOf(person: SignedIn): Promise<string> {
  const [row] = await world.db<{ agent_id: string }[]>`
    select agent_id from auth.oauth_binding where user_id = ${person.id}`;
  return row?.agent_id ?? '';
}

describe('on every gateway an access token is refused', () => {
  test('after its refresh token was revoked', async () => {
    const client = await signedIn();
    const { clientId, refresh_token: token } = client;
    const reply = await world.post('/oauth/revoke', { client_id: clientId, token }, world.urls[1]);
    expect(reply.status).toBe(200);
    await expectRefused(client);
    expect((await refresh(client)).body.error).toBe('invalid_grant');
  });

  test('after it was revoked itself, while its chain goes on', async () => {
    const client = await signedIn();
    const { clientId, access_token: token } = client;
    await world.post('/oauth/revoke', {
      client_id: clientId,
      token,
      token_type_hint: 'access_token',
    });
    await expectRefused(client);
    expect((await refresh(client)).status).toBe(200);
  });

  test('after the refresh token before last was used again', async () => {
    const client = await signedIn();
    await refresh(client);
    await refresh(client);
    await expectRefused(client);
  });

  test('after its agent was revoked', async () => {
    const client = await signedIn();
    const agent = await agentOf(client.person);
    expect((await client.person.post(`/v1/identities/${agent}/revoke`)).status).toBe(200);
    await expectRefused(client);
    expect((await refresh(client)).body.error).toBe('invalid_grant');
    expect(await agentOf(client.person)).toBe('');
  });

  test('after its user was revoked, and all of that user’s with it', async () => {
    const admin = await world.person({ role: 'admin' });
    const user = await world.person({ orgId: admin.orgId, name: 'leaver' });
    const [one, other] = [await signedIn(user), await signedIn(user)];
    expect((await admin.post(`/v1/identities/${user.id}/revoke`)).status).toBe(200);
    await expectRefused(one);
    await expectRefused(other);
    expect((await refresh(other)).body.error).toBe('invalid_grant');
  });

  test('while its agent is archived, which a refresh does not get around', async () => {
    const client = await signedIn();
    const agent = await agentOf(client.person);
    const setStatus = (status: string) =>
      world.db`update auth.identity set status = ${status} where id = ${agent}`;
    await setStatus('archived');
    await expectRefused(client, { status: 403, ...unannounced });
    expect((await refresh(client)).body.error).toBe('invalid_grant');

    await setStatus('active');
    const again = await refresh(client);
    expect(again.status).toBe(200);
    expect(await statuses(again.body)).toEqual([200, 200]);
  });

  test('after its agent has expired', async () => {
    const client = await signedIn();
    const agent = await agentOf(client.person);
    await world.db`update auth.identity set expires_at = now() where id = ${agent}`;
    await expectRefused(client, unannounced);
    expect((await refresh(client)).body.error).toBe('invalid_grant');
  });

  test('after an admin shut its client out of the org, and of that org alone', async () => {
    const [ann, bob] = [await signedIn(), await world.person()];
    const elsewhere = await world.signInClient(bob, { clientId: ann.clientId });
    await world.db`
      insert into auth.oauth_client_revocation (org_id, client_id, revoked_by)
      values (${ann.person.orgId}, ${ann.clientId}, ${ann.person.id})`;
    await expectRefused(ann, unannounced);
    expect((await refresh(ann)).body.error).toBe('invalid_grant');
    for (const parameters of [{}, { prompt: 'consent' }, { prompt: 'none' }]) {
      const { url } = authorization(world.url, { client_id: ann.clientId, ...parameters });
      const { leavesTo } = await ann.person.browser.open(url);
      expect(leavesTo?.searchParams.get('error')).toBe('access_denied');
    }
    expect(await statuses(elsewhere)).toEqual([200, 200]);
  });

  test('while its client is not on the list of the org, by name or software id', async () => {
    const client = await signedIn();
    const { orgId } = client.person;
    const allow = (list: string[] | null) => world.db`
      update auth.org set oauth_client_allow_list = ${list} where id = ${orgId}`;
    await allow(['Another Client']);
    await expectRefused(client, unannounced);
    const { url } = authorization(world.url, { client_id: client.clientId });
    const { leavesTo } = await client.person.browser.open(url);
    expect(leavesTo?.searchParams.get('error')).toBe('access_denied');

    const [row] = await world.db<{ name: string }[]>`
      select name from auth.oauth_client where id = ${client.clientId}`;
    await allow(['Another Client', row?.name ?? '']);
    await expect.poll(() => statuses(client), { timeout: 3_000 }).toEqual([200, 200]);
    await allow(['software-1']);
    await expectRefused(client, unannounced);
    await world.db`
      update auth.oauth_client set software_id = 'software-1' where id = ${client.clientId}`;
    await expect.poll(() => statuses(client), { timeout: 3_000 }).toEqual([200, 200]);
    expect((await refresh(client)).status).toBe(200);
  });

  test('after fifteen minutes', async () => {
    const client = await signedIn();
    await world.db`
      update auth.oauth_token set expires_at = now() where kind = 'access'`;
    await expectRefused(client, unannounced);
    expect((await refresh(client)).status).toBe(200);
  });
});

describe('revoking', () => {
  test('what is not there, or of another client, is no error and changes nothing', async () => {
    const client = await signedIn();
    const other = await world.register();
    for (const token of ['x'.repeat(43), '', client.refresh_token]) {
      const reply = await world.post('/oauth/revoke', { client_id: other, token: token || 'x' });
      expect(reply.status).toBe(200);
    }
    expect((await refresh(client)).status).toBe(200);
  });

  test('leaves a record that says who could act as whom', async () => {
    const client = await signedIn();
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

  test('a session ends the sign-in of the browser, not the clients that were let in', async () => {
    const client = await signedIn();
    await client.person.post('/v1/sign-out');
    const { url } = authorization(world.url, { client_id: client.clientId });
    await expect
      .poll(async () => {
        const reply = await fetch(url, {
          redirect: 'manual',
          headers: { cookie: `gateway_session=${client.person.sessionToken}` },
        });
        return reply.headers.get('location');
      })
      .toMatch(/^\/sign-in\?return_to=/);
    expect(await statuses(client)).toEqual([200, 200]);
  });
});

describe('with a grace for clients that lose answers', () => {
  test('the token before the newest works for a moment, and older ones end the chain', async () => {
    await using lenient = await startOauthWorld({
      settings: { REFRESH_REUSE_GRACE_SECONDS: '30' },
    });
    const client = await lenient.signInClient(await lenient.person());
    const use = (refreshToken: string) =>
      lenient.post('/oauth/token', {
        grant_type: 'refresh_token',
        client_id: client.clientId,
        refresh_token: refreshToken,
      });
    const lost = await use(client.refresh_token);
    const again = await use(client.refresh_token);
    expect([lost.status, again.status]).toEqual([200, 200]);

    const newest = await use(again.body.refresh_token);
    expect(newest.status).toBe(200);
    expect((await use(client.refresh_token)).body.error).toBe('invalid_grant');
    expect((await use(newest.body.refresh_token)).body.error).toBe('invalid_grant');
  });
});
