import type { ServerResponse } from 'node:http';

import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';

import type { OauthAppBody } from '#contracts/http/oauth-apps';
import { canary, context, createWorld, testDeadline } from '../world.testing.ts';
import type { World } from '../world.testing.ts';

let world: World;
beforeAll(async () => {
  world = await createWorld();
});
afterAll(() => world[Symbol.asyncDispose]());

/**
 * The JSON at each path of the upstream, which is both an MCP server and its authorization server.
 */
let jsonByPath: Record<string, object>;
/** The `WWW-Authenticate` header of the answer to a request without a token. */
let challenge: string;
let registrationAnswer: Record<string, unknown>;

const upstreamOrigin = () => world.upstream.baseUrl;
const pathMetadataUrl = '/.well-known/oauth-protected-resource/mcp';
const rootMetadataUrl = '/.well-known/oauth-protected-resource';
const serverMetadata = (parts: object = {}) => ({
  issuer: upstreamOrigin(),
  authorization_endpoint: `${upstreamOrigin()}/authorize`,
  token_endpoint: `${upstreamOrigin()}/token`,
  registration_endpoint: `${upstreamOrigin()}/register`,
  code_challenge_methods_supported: ['S256'],
  token_endpoint_auth_methods_supported: ['client_secret_post', 'none'],
  ...parts,
});
const resourceMetadata = (parts: object = {}) => ({
  resource: `${upstreamOrigin()}/mcp`,
  authorization_servers: [upstreamOrigin()],
  ...parts,
});

beforeEach(() => {
  world.upstream.reset();
  challenge = 'Bearer';
  registrationAnswer = { client_id: 'registered' };
  jsonByPath = { '/.well-known/oauth-authorization-server': serverMetadata() };
  const sendJson = (reply: ServerResponse, status: number, body: object) =>
    reply.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
  world.upstream.answer(({ method, url }, reply) => {
    if (url === '/mcp') return reply.writeHead(401, { 'www-authenticate': challenge }).end();
    if (method === 'POST' && url === '/register') return sendJson(reply, 201, registrationAnswer);
    const page = jsonByPath[url];
    return page === undefined ? sendJson(reply, 404, {}) : sendJson(reply, 200, page);
  });
});

const definitionWith = (parts: object = {}) => ({
  title: 'Own',
  mcp_server: `${upstreamOrigin()}/mcp`,
  ...parts,
});
const putApp = (body: OauthAppBody) =>
  world.gateway.putOauthApp(
    { principal: world.admin, provider: 'own', body, context },
    testDeadline(),
  );
const storedRows = async () => {
  const [row] = await world.sql<{ definition: Record<string, unknown> }[]>`
    select definition from executor.oauth_app where provider = 'own'
  `;
  return row?.definition;
};
const hitsOf = (path: string) => world.upstream.hits.filter(({ url }) => url === path);

describe('the authorization server of an MCP server', () => {
  test('is found through the challenge, together with the scopes in the challenge', async () => {
    const metadataUrl = `${upstreamOrigin()}/elsewhere`;
    challenge = `Bearer realm="x", resource_metadata="${metadataUrl}", scope="issues:read issues:write"`;
    jsonByPath['/elsewhere'] = resourceMetadata({ scopes_supported: ['all'] });
    jsonByPath[pathMetadataUrl] = resourceMetadata({
      authorization_servers: ['https://evil.example'],
    });
    jsonByPath['/.well-known/oauth-authorization-server'] = serverMetadata({
      scopes_supported: ['issues:read', 'offline_access'],
    });
    const secret = canary();
    registrationAnswer['client_secret'] = secret;

    const app = await putApp({ definition: definitionWith() });

    expect(app).toMatchObject({ client_id: 'registered', has_client_secret: true });
    expect(JSON.stringify(app)).not.toContain(secret);
    expect(await storedRows()).toMatchObject({
      issuer: upstreamOrigin(),
      pkce: true,
      client_authentication: 'client_secret_post',
      scopes_default: ['issues:read', 'issues:write'],
      scopes_always: ['offline_access'],
      authorize_parameters: { resource: `${upstreamOrigin()}/mcp` },
      token_parameters: { resource: `${upstreamOrigin()}/mcp` },
      hosts: [world.upstream.host],
    });
    expect(JSON.parse(hitsOf('/register')[0]?.body ?? '')).toMatchObject({
      redirect_uris: [app.redirect_uri],
      grant_types: ['authorization_code', 'refresh_token'],
      token_endpoint_auth_method: 'client_secret_post',
      scope: 'issues:read issues:write offline_access',
    });
  });

  test.for<[string, () => void, string]>([
    [
      'metadata at the well-known URL with the server’s path',
      () => (jsonByPath[pathMetadataUrl] = resourceMetadata()),
      '/mcp',
    ],
    [
      'metadata at the well-known URL of the host',
      () => (jsonByPath[rootMetadataUrl] = resourceMetadata({ resource: `${upstreamOrigin()}/` })),
      '/',
    ],
    ['its own address if no metadata exists, as before MCP version 2025-06-18', () => {}, '/mcp'],
  ])('is found by %s', async ([, setUp, path]) => {
    setUp();
    const app = await putApp({ definition: definitionWith() });
    expect(app).toMatchObject({
      client_id: 'registered',
      has_client_secret: false,
      definition: { issuer: upstreamOrigin() },
    });
    expect(await storedRows()).toMatchObject({
      client_authentication: 'none',
      token_parameters: { resource: upstreamOrigin() + path },
    });
  });

  test('gets no client registration when the admin supplies a client', async () => {
    jsonByPath['/.well-known/oauth-authorization-server'] = serverMetadata({
      registration_endpoint: undefined,
    });
    const body = { client_id: 'known', client_secret: canary(), definition: definitionWith() };
    expect(await putApp(body)).toMatchObject({ client_id: 'known', has_client_secret: true });
    await expect(putApp({ definition: definitionWith() })).rejects.toMatchObject({
      details: { issues: [{ path: 'client_id' }] },
    });
  });

  const asMetadata = (parts: object) => () => {
    jsonByPath['/.well-known/oauth-authorization-server'] = serverMetadata(parts);
  };
  test.for<[string, () => void]>([
    [
      'has metadata of another server',
      () =>
        (jsonByPath[pathMetadataUrl] = resourceMetadata({
          resource: 'https://api.example.com/mcp',
        })),
    ],
    [
      'has metadata of another path on its host',
      () =>
        (jsonByPath[pathMetadataUrl] = resourceMetadata({ resource: `${upstreamOrigin()}/mc` })),
    ],
    [
      'names an authorization server at an internal address',
      () =>
        (jsonByPath[pathMetadataUrl] = resourceMetadata({
          authorization_servers: ['http://169.254.169.254'],
        })),
    ],
    [
      'names metadata at an internal address in its challenge',
      () => (challenge = 'Bearer resource_metadata="http://169.254.169.254/latest"'),
    ],
    [
      'names a javascript: URL as authorization endpoint',
      asMetadata({ authorization_endpoint: 'javascript:alert(1)' }),
    ],
    ['names a file as token endpoint', asMetadata({ token_endpoint: 'file:///etc/passwd' })],
    ['does not support PKCE', asMetadata({ code_challenge_methods_supported: ['plain'] })],
    ['names another issuer', asMetadata({ issuer: 'https://id.example.com' })],
    [
      'names a registration endpoint at an internal address',
      asMetadata({ registration_endpoint: 'http://169.254.169.254/register' }),
    ],
    ['registers an invalid client id', () => (registrationAnswer = { client_id: 'a\nb' })],
    ['refuses the registration', () => (registrationAnswer = { error: 'invalid_client_metadata' })],
  ])('is not accepted from a server that %s', async ([, setUp]) => {
    await world.sql`delete from executor.oauth_app`;
    setUp();
    await expect(putApp({ definition: definitionWith() })).rejects.toMatchObject({
      code: 'invalid_params',
      details: { issues: [{ path: expect.stringMatching(/^(client_id|definition\..+)$/) }] },
    });
    expect(await storedRows()).toBeUndefined();
  });

  test('is not searched for at an address that calls may not use', async () => {
    for (const mcp_server of ['http://10.0.0.1/mcp', 'https://169.254.169.254/mcp']) {
      await expect(putApp({ definition: definitionWith({ mcp_server }) })).rejects.toMatchObject({
        code: 'invalid_params',
        details: { issues: [{ path: 'definition.mcp_server' }] },
      });
    }
  });
});
