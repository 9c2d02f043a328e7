import * as oauth from 'oauth4webapi';
import * as openid from 'openid-client';
import { afterAll, beforeAll, expect, test } from 'vitest';

import { createCallerWithKey } from '../../test/support/http.ts';
import { startOauthWorld } from '../../test/support/oauth-world.ts';
import type { OauthWorld, SignedIn } from '../../test/support/oauth-world.ts';

/**
 * These tests run third-party OAuth client libraries, with all their own checks, through the whole
 * flow.
 */

let world: OauthWorld;
let person: SignedIn;
beforeAll(async () => {
  world = await startOauthWorld({ authReplicas: 3 });
  person = await world.person();
});
afterAll(() => world[Symbol.asyncDispose]());

const redirectUri = 'http://127.0.0.1:7777/callback';
const callStatusOf = async (token: string) =>
  (await createCallerWithKey(world.url, token).get('/v1/identities/me')).status;

test('the library oauth4webapi can discover the server, register, sign in, make calls, refresh its tokens and revoke them', async () => {
  const insecureOptions = { [oauth.allowInsecureRequests]: true };
  const issuer = new URL(world.url);
  const resource = new URL('/mcp', world.url);
  const discoveredResource = await oauth.processResourceDiscoveryResponse(
    resource,
    await oauth.resourceDiscoveryRequest(resource, insecureOptions),
  );
  expect(discoveredResource.authorization_servers).toEqual([world.url]);
  const server = await oauth.processDiscoveryResponse(
    issuer,
    await oauth.discoveryRequest(issuer, { algorithm: 'oauth2', ...insecureOptions }),
  );
  const client = await oauth.processDynamicClientRegistrationResponse(
    await oauth.dynamicClientRegistrationRequest(
      server,
      { redirect_uris: ['http://127.0.0.1/callback'], client_name: 'oauth4webapi' },
      insecureOptions,
    ),
  );
  expect(client).not.toHaveProperty('client_secret');

  const verifier = oauth.generateRandomCodeVerifier();
  const state = oauth.generateRandomState();
  const url = new URL(server.authorization_endpoint ?? '');
  url.search = new URLSearchParams({
    client_id: client.client_id,
    redirect_uri: redirectUri,
    response_type: 'code',
    code_challenge: await oauth.calculatePKCECodeChallenge(verifier),
    code_challenge_method: 'S256',
    resource: resource.href,
    state,
  }).toString();
  const answer = await person.browser.authorize(url);
  const parameters = oauth.validateAuthResponse(server, client, answer, state);

  const tokens = await oauth.processAuthorizationCodeResponse(
    server,
    client,
    await oauth.authorizationCodeGrantRequest(
      server,
      client,
      oauth.None(),
      parameters,
      redirectUri,
      verifier,
      { additionalParameters: { resource: resource.href }, ...insecureOptions },
    ),
  );
  expect(await callStatusOf(tokens.access_token)).toBe(200);

  const refreshed = await oauth.processRefreshTokenResponse(
    server,
    client,
    await oauth.refreshTokenGrantRequest(
      server,
      client,
      oauth.None(),
      tokens.refresh_token ?? '',
      insecureOptions,
    ),
  );
  expect(await callStatusOf(refreshed.access_token)).toBe(200);
  await oauth.processRevocationResponse(
    await oauth.revocationRequest(
      server,
      client,
      oauth.None(),
      refreshed.refresh_token ?? '',
      insecureOptions,
    ),
  );
  await expect.poll(() => callStatusOf(refreshed.access_token)).toBe(401);
});

test('the library openid-client can discover the server, register, sign in, make calls, refresh its tokens and revoke them', async () => {
  const options = { algorithm: 'oauth2' as const, execute: [openid.allowInsecureRequests] };
  const configuration = await openid.dynamicClientRegistration(
    new URL(world.url),
    { redirect_uris: ['http://127.0.0.1/callback'], client_name: 'openid-client' },
    openid.None(),
    options,
  );
  expect(configuration.clientMetadata()).not.toHaveProperty('client_secret');
  expect(configuration.serverMetadata().supportsPKCE()).toBe(true);

  const verifier = openid.randomPKCECodeVerifier();
  const state = openid.randomState();
  const url = openid.buildAuthorizationUrl(configuration, {
    redirect_uri: redirectUri,
    code_challenge: await openid.calculatePKCECodeChallenge(verifier),
    code_challenge_method: 'S256',
    scope: 'mcp offline_access',
    state,
  });
  const answer = await person.browser.authorize(url);
  const tokens = await openid.authorizationCodeGrant(configuration, answer, {
    pkceCodeVerifier: verifier,
    expectedState: state,
  });
  expect(await callStatusOf(tokens.access_token)).toBe(200);

  const refreshed = await openid.refreshTokenGrant(configuration, tokens.refresh_token ?? '');
  expect(await callStatusOf(refreshed.access_token)).toBe(200);
  await openid.tokenRevocation(configuration, refreshed.refresh_token ?? '');
  await expect.poll(() => callStatusOf(refreshed.access_token)).toBe(401);
});
