import type { ServerResponse } from 'node:http';

import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';

import type { OauthAppBody } from '#contracts/http/oauth-apps';
import { canary, context, createWorld, soon } from './world.testing.ts';
import type { World } from './world.testing.ts';

let world: World;
beforeAll(async () => {
  world = await createWorld();
});
afterAll(() => world[Symbol.asyncDispose]());

/** What is at the paths of the upstream, which is an MCP server and who gives out its tokens at once. */
let pages: Record<string, object>;
/** What the server says to who comes without a token. */
let challenge: string;
let registered: Record<string, unknown>;

const origin = () => world.upstream.baseUrl;
const atPath = '/.well-known/oauth-protected-resource/mcp';
const atRoot = '/.well-known/oauth-protected-resource';
const metadata = (parts: object = {}) => ({
  issuer: origin(),
  authorization_endpoint: `${origin()}/authorize`,
  token_endpoint: `${origin()}/token`,
  registration_endpoint: `${origin()}/register`,
  code_challenge_methods_supported: ['S256'],
  token_endpoint_auth_methods_supported: ['client_secret_post', 'none'],
  ...parts,
});
const resource = (parts: object = {}) => ({
  resource: `${origin()}/mcp`,
  authorization_servers: [origin()],
  ...parts,
});

beforeEach(() => {
  world.upstream.reset();
  challenge = 'Bearer';
  registered = { client_id: 'registered' };
  pages = { '/.well-known/oauth-authorization-server': metadata() };
  const json = (reply: ServerResponse, status: number, body: object) =>
    reply.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
  world.upstream.answer(({ method, url }, reply) => {
    if (url === '/mcp') return reply.writeHead(401, { 'www-authenticate': challenge }).end();
    if (method === 'POST' && url === '/register') return json(reply, 201, registered);
    const page = pages[url];
    return page === undefined ? json(reply, 404, {}) : json(reply, 200, page);
  });
});

const definition = (parts: object = {}) => ({
  title: 'Own',
  mcp_server: `${origin()}/mcp`,
  ...parts,
});
const put = (body: OauthAppBody) =>
  world.gateway.putOauthApp({ principal: world.admin, provider: 'own', body, context }, soon());
const stored = async () => {
  const [row] = await world.sql<{ definition: Record<string, unknown> }[]>`
    select definition from executor.oauth_app where provider = 'own'
  `;
  return row?.definition;
};
const hitsOf = (path: string) => world.upstream.hits.filter(({ url }) => url === path);

describe('who gives out the tokens of an MCP server', () => {
  test('is whom its challenge leads to, asked for what the challenge says', async () => {
    const place = `${origin()}/elsewhere`;
    challenge = `Bearer realm="x", resource_metadata="${place}", scope="issues:read issues:write"`;
    pages['/elsewhere'] = resource({ scopes_supported: ['all'] });
    pages[atPath] = resource({ authorization_servers: ['https://evil.example'] });
    pages['/.well-known/oauth-authorization-server'] = metadata({
      scopes_supported: ['issues:read', 'offline_access'],
    });
    const secret = canary();
    registered['client_secret'] = secret;

    const app = await put({ definition: definition() });

    expect(app).toMatchObject({ client_id: 'registered', has_client_secret: true });
    expect(JSON.stringify(app)).not.toContain(secret);
    expect(await stored()).toMatchObject({
      issuer: origin(),
      pkce: true,
      client_authentication: 'client_secret_post',
      scopes_default: ['issues:read', 'issues:write'],
      scopes_always: ['offline_access'],
      authorize_parameters: { resource: `${origin()}/mcp` },
      token_parameters: { resource: `${origin()}/mcp` },
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
    ['at the path', () => (pages[atPath] = resource()), '/mcp'],
    ['at the root', () => (pages[atRoot] = resource({ resource: `${origin()}/` })), '/'],
    ['nowhere, as before 2025-06-18', () => {}, '/mcp'],
  ])('is found by metadata %s', async ([, setUp, path]) => {
    setUp();
    const app = await put({ definition: definition() });
    expect(app).toMatchObject({
      client_id: 'registered',
      has_client_secret: false,
      definition: { issuer: origin() },
    });
    expect(await stored()).toMatchObject({
      client_authentication: 'none',
      token_parameters: { resource: origin() + path },
    });
  });

  test('needs not register who is known there already', async () => {
    pages['/.well-known/oauth-authorization-server'] = metadata({
      registration_endpoint: undefined,
    });
    const body = { client_id: 'known', client_secret: canary(), definition: definition() };
    expect(await put(body)).toMatchObject({ client_id: 'known', has_client_secret: true });
    await expect(put({ definition: definition() })).rejects.toMatchObject({
      details: { issues: [{ path: 'client_id' }] },
    });
  });

  const asMetadata = (parts: object) => () => {
    pages['/.well-known/oauth-authorization-server'] = metadata(parts);
  };
  test.for<[string, () => void]>([
    [
      'speaks for another server',
      () => (pages[atPath] = resource({ resource: 'https://api.example.com/mcp' })),
    ],
    ['speaks for a neighbour', () => (pages[atPath] = resource({ resource: `${origin()}/mc` }))],
    [
      'leads to an inner address',
      () => (pages[atPath] = resource({ authorization_servers: ['http://169.254.169.254'] })),
    ],
    [
      'leads there by its challenge',
      () => (challenge = 'Bearer resource_metadata="http://169.254.169.254/latest"'),
    ],
    ['names a script', asMetadata({ authorization_endpoint: 'javascript:alert(1)' })],
    ['names a file', asMetadata({ token_endpoint: 'file:///etc/passwd' })],
    ['knows no PKCE', asMetadata({ code_challenge_methods_supported: ['plain'] })],
    ['is another issuer', asMetadata({ issuer: 'https://id.example.com' })],
    [
      'registers at an inner address',
      asMetadata({ registration_endpoint: 'http://169.254.169.254/register' }),
    ],
    ['gives an unusable client', () => (registered = { client_id: 'a\nb' })],
    ['refuses to register', () => (registered = { error: 'invalid_client_metadata' })],
  ])('is not taken from a server that %s', async ([, setUp]) => {
    await world.sql`delete from executor.oauth_app`;
    setUp();
    await expect(put({ definition: definition() })).rejects.toMatchObject({
      code: 'invalid_params',
      details: { issues: [{ path: expect.stringMatching(/^(client_id|definition\..+)$/) }] },
    });
    expect(await stored()).toBeUndefined();
  });

  test('is not asked of an address that calls may not reach', async () => {
    for (const mcp_server of ['http://10.0.0.1/mcp', 'https://169.254.169.254/mcp']) {
      await expect(put({ definition: definition({ mcp_server }) })).rejects.toMatchObject({
        code: 'invalid_params',
        details: { issues: [{ path: 'definition.mcp_server' }] },
      });
    }
  });
});
