import type { BadInput, Scene } from './scene.ts';

const invalidRequest = { status: 400, error: 'invalid_request' };
const invalidParams = { status: 400, error: 'invalid_params' };
const requestConnection = (body: unknown) => (scene: Scene) =>
  scene.admin.post('/v1/connections', body);
const putOauthApp =
  (fields: object, provider = 'own') =>
  (scene: Scene) =>
    scene.admin.put(`/v1/oauth-apps/${provider}`, {
      client_id: 'gateway',
      client_secret: 'CANARY-bad-app',
      ...fields,
    });
const putOauthDefinition = (fields: object) =>
  putOauthApp({
    definition: {
      title: 'Own',
      hosts: ['api.example'],
      authorization_url: 'https://id.example/authorize',
      token_url: 'https://id.example/token',
      ...fields,
    },
  });

/** Invalid requests about connections and about the OAuth apps that connections use. */
export const badConnections: BadInput[] = [
  {
    what: 'a connection without a provider or template',
    send: requestConnection({}),
    ...invalidRequest,
    tells: /provider/,
  },
  {
    what: 'a connection with both a provider and a template',
    send: requestConnection({ provider: 'github', template: 'github' }),
    ...invalidRequest,
  },
  {
    what: 'a connection to a provider without an app',
    send: requestConnection({ provider: 'slack' }),
    status: 409,
    error: 'conflict',
    tells: /PUT \/v1\/oauth-apps\/slack/,
  },
  {
    what: 'a connection for a template that does not exist',
    send: requestConnection({ template: 'githubb' }),
    status: 404,
    error: 'not_found',
  },
  {
    what: 'a connection for a template that uses secrets',
    send: requestConnection({ template: 'sendgrid' }),
    status: 409,
    error: 'conflict',
    tells: /secrets/,
  },
  {
    what: 'a connection with an invalid scope',
    send: requestConnection({ provider: 'github', scopes: ['repo user'] }),
    ...invalidRequest,
    tells: /scopes/,
  },
  {
    what: 'a connection with a reserved name',
    send: requestConnection({ provider: 'github', name: 'secret' }),
    ...invalidRequest,
    tells: /reserved/,
  },
  {
    what: 'a new name for an existing connection',
    send: requestConnection({ connection: '01890000-0000-7000-8000-000000000000', name: 'other' }),
    ...invalidRequest,
  },
  {
    what: 'more scopes for a connection that does not exist',
    send: requestConnection({
      connection: '01890000-0000-7000-8000-000000000000',
      scopes: ['repo'],
    }),
    status: 404,
    error: 'not_found',
  },
  {
    what: "a member's connection for the whole org",
    send: ({ member }) => member.post('/v1/connections', { provider: 'github', tier: 'org' }),
    status: 403,
    error: 'forbidden',
    tells: /admin/,
  },
  {
    what: "an agent's connection for the whole org",
    send: ({ bot }) => bot.post('/v1/connections', { provider: 'github', tier: 'org' }),
    status: 403,
    error: 'forbidden',
  },
  {
    what: 'a provider app that a member enters',
    send: ({ member }) =>
      member.put('/v1/oauth-apps/github', { client_id: 'x', client_secret: 'CANARY-x' }),
    status: 403,
    error: 'forbidden',
  },
  { what: 'an app without a client id', send: putOauthApp({ client_id: '' }), ...invalidRequest },
  ...['CANARY-bad-app ', '\u00a0CANARY-bad-app', 'CANARY-bad\u200b-app'].map((secret) => ({
    what: `an app whose client secret is ${JSON.stringify(secret)}`,
    send: putOauthApp({ client_secret: secret }),
    ...invalidRequest,
    tells: /client_secret/,
  })),
  {
    what: 'an app of a provider that does not exist',
    send: putOauthApp({}),
    ...invalidParams,
    tells: /definition/,
  },
  {
    what: 'an app without its client secret',
    send: putOauthApp({ client_secret: undefined }, 'github'),
    ...invalidParams,
    tells: /client_secret/,
  },
  {
    what: 'an app without the variables that its provider needs',
    send: putOauthApp({}, 'okta'),
    ...invalidParams,
    tells: /variables\.domain/,
  },
  {
    what: 'an app whose variable leads to another host',
    send: putOauthApp({ variables: { domain: 'evil.example' } }, 'okta'),
    ...invalidParams,
    tells: /variables\.domain/,
  },
  {
    what: 'an app with a variable that its provider does not have',
    send: putOauthApp({ variables: { tenant: 'x' } }, 'github'),
    ...invalidParams,
    tells: /variables\.tenant/,
  },
  {
    what: 'a change of the endpoints of a built-in provider',
    send: putOauthApp(
      {
        definition: {
          title: 'GitHub',
          hosts: ['evil.example'],
          authorization_url: 'https://evil.example/a',
          token_url: 'https://evil.example/t',
        },
      },
      'github',
    ),
    status: 409,
    error: 'conflict',
    tells: /built in/,
  },
  ...['javascript:alert(1)', 'data:text/html,x', '//id.example', 'https://u:p@id.example/a'].map(
    (address) => ({
      what: `a provider with the authorization endpoint ${JSON.stringify(address)}`,
      send: putOauthDefinition({ authorization_url: address }),
      ...invalidRequest,
      tells: /authorization_url/,
    }),
  ),
  ...['http://id.example/token', 'http://169.254.169.254/token'].map((address) => ({
    what: `a provider with the token endpoint ${address}`,
    send: putOauthDefinition({ token_url: address }),
    ...invalidParams,
    tells: /token_url/,
  })),
  ...['https://169.254.169.254', 'https://127.0.0.1:1', 'https://[::1]'].map((issuer) => ({
    what: `a provider with the internal issuer ${issuer}`,
    send: putOauthDefinition({ issuer }),
    ...invalidParams,
    tells: /issuer/,
  })),
  ...['https://169.254.169.254/mcp', 'https://[::1]/mcp'].map((address) => ({
    what: `a provider of an MCP server at the internal address ${address}`,
    send: putOauthApp({ definition: { title: 'Own', mcp_server: address } }),
    ...invalidParams,
    tells: /mcp_server/,
  })),
  {
    what: 'a provider with both an issuer and an MCP server',
    send: putOauthDefinition({
      issuer: 'https://id.example',
      mcp_server: 'https://mcp.example/mcp',
    }),
    ...invalidRequest,
    tells: /mcp_server/,
  },
  {
    what: 'an app without a client at a built-in provider',
    send: putOauthApp({ client_id: undefined, client_secret: undefined }, 'slack'),
    ...invalidRequest,
    tells: /client_id/,
  },
  {
    what: 'an app with a secret and no client id',
    send: putOauthApp({
      client_id: undefined,
      definition: { title: 'Own', mcp_server: 'https://a.example' },
    }),
    ...invalidRequest,
    tells: /client_id/,
  },
  {
    what: 'a provider without hosts for its tokens',
    send: putOauthDefinition({ hosts: [] }),
    ...invalidRequest,
    tells: /hosts/,
  },
  {
    what: 'deleting an app that does not exist',
    send: ({ admin }) => admin.delete('/v1/oauth-apps/slack'),
    status: 404,
    error: 'not_found',
  },
  {
    what: 'deleting an app that the environment sets',
    send: ({ admin }) => admin.delete('/v1/oauth-apps/github'),
    status: 409,
    error: 'conflict',
    tells: /environment/,
  },
];
