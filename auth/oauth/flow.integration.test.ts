import { afterAll, beforeAll, describe, expect, test } from 'vitest';

import { createCallerWithKey } from '../../test/support/http.ts';
import {
  createAuthorizationRequest,
  redirectUri,
  startOauthWorld,
} from '../../test/support/oauth-world.ts';
import type { OauthWorld } from '../../test/support/oauth-world.ts';

let world: OauthWorld;
beforeAll(async () => {
  world = await startOauthWorld();
});
afterAll(() => world[Symbol.asyncDispose]());

describe('an OAuth client', () => {
  test('can register, be authorized, make calls, refresh its tokens and revoke them', async () => {
    const person = await world.person();
    const clientId = await world.register({ client_name: 'Claude Code' });
    const { url, verifier } = createAuthorizationRequest(world.url, { client_id: clientId });

    const answer = await person.browser.authorize(url);
    expect(answer.origin + answer.pathname).toBe(redirectUri);
    expect(answer.searchParams.get('iss')).toBe(world.url);
    expect(answer.searchParams.get('state')).toBe('client-state');

    const { body: tokens, headers } = await world.post('/oauth/token', {
      grant_type: 'authorization_code',
      client_id: clientId,
      redirect_uri: redirectUri,
      code: answer.searchParams.get('code') ?? '',
      code_verifier: verifier,
    });
    expect(tokens).toEqual({
      access_token: expect.stringMatching(/^[\w-]{43}$/),
      refresh_token: expect.stringMatching(/^[\w-]{43}$/),
      token_type: 'Bearer',
      expires_in: 900,
      scope: 'mcp',
    });
    expect(headers.get('cache-control')).toBe('no-store');

    const me = await createCallerWithKey(world.url, tokens.access_token).get('/v1/identities/me');
    expect(me.body).toMatchObject({
      kind: 'agent',
      name: 'claude-code',
      path: ['ann', 'claude-code'],
      scopes: ['mcp'],
      credential: { kind: 'access_token' },
    });

    const refreshed = await world.post('/oauth/token', {
      grant_type: 'refresh_token',
      client_id: clientId,
      refresh_token: tokens.refresh_token,
    });
    expect(refreshed.status).toBe(200);
    const revoked = await world.post('/oauth/revoke', {
      client_id: clientId,
      token: refreshed.body.refresh_token,
    });
    expect(revoked.status).toBe(200);
    await expect
      .poll(async () => {
        const refreshedCaller = createCallerWithKey(world.url, refreshed.body.access_token);
        return (await refreshedCaller.get('/v1/identities/me')).status;
      })
      .toBe(401);
  });
});
