import type { BadInput, Scene } from './scene.ts';

const invalid = { status: 400, error: 'invalid_request' };
const wrong = { status: 400, error: 'invalid_params' };
const ask = (body: unknown) => (scene: Scene) => scene.admin.post('/v1/connections', body);
const put =
  (fields: object, provider = 'own') =>
  (scene: Scene) =>
    scene.admin.put(`/v1/oauth-apps/${provider}`, {
      client_id: 'gateway',
      client_secret: 'CANARY-bad-app',
      ...fields,
    });
const define = (fields: object) =>
  put({
    definition: {
      title: 'Own',
      hosts: ['api.example'],
      authorization_url: 'https://id.example/authorize',
      token_url: 'https://id.example/token',
      ...fields,
    },
  });

/** About connections and the apps they are made with. */
export const badConnections: BadInput[] = [
  { what: 'a connection to nothing', send: ask({}), ...invalid, tells: /provider/ },
  {
    what: 'a connection by provider and template',
    send: ask({ provider: 'github', template: 'github' }),
    ...invalid,
  },
  {
    what: 'a connection to a provider that nobody has set up',
    send: ask({ provider: 'slack' }),
    status: 409,
    error: 'conflict',
    tells: /PUT \/v1\/oauth-apps\/slack/,
  },
  {
    what: 'a connection by a template that is not there',
    send: ask({ template: 'githubb' }),
    status: 404,
    error: 'not_found',
  },
  {
    what: 'a connection by a template that takes secrets',
    send: ask({ template: 'sendgrid' }),
    status: 409,
    error: 'conflict',
    tells: /secrets/,
  },
  {
    what: 'a connection with a scope that is none',
    send: ask({ provider: 'github', scopes: ['repo user'] }),
    ...invalid,
    tells: /scopes/,
  },
  {
    what: 'a connection with a reserved name',
    send: ask({ provider: 'github', name: 'secret' }),
    ...invalid,
    tells: /reserved/,
  },
  {
    what: 'a new name for a connection that is there',
    send: ask({ connection: '01890000-0000-7000-8000-000000000000', name: 'other' }),
    ...invalid,
  },
  {
    what: 'more scopes for a connection that is not there',
    send: ask({ connection: '01890000-0000-7000-8000-000000000000', scopes: ['repo'] }),
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
    what: "a member's app",
    send: ({ member }) =>
      member.put('/v1/oauth-apps/github', { client_id: 'x', client_secret: 'CANARY-x' }),
    status: 403,
    error: 'forbidden',
  },
  { what: 'an app without a client id', send: put({ client_id: '' }), ...invalid },
  {
    what: 'an app of a provider that does not exist',
    send: put({}),
    ...wrong,
    tells: /definition/,
  },
  {
    what: 'an app without the secret that its provider gives',
    send: put({ client_secret: undefined }, 'github'),
    ...wrong,
    tells: /client_secret/,
  },
  {
    what: 'an app without the variables that its provider needs',
    send: put({}, 'okta'),
    ...wrong,
    tells: /variables\.domain/,
  },
  {
    what: 'an app whose variable is another host',
    send: put({ variables: { domain: 'evil.example' } }, 'okta'),
    ...wrong,
    tells: /variables\.domain/,
  },
  {
    what: 'an app with a variable that its provider does not have',
    send: put({ variables: { tenant: 'x' } }, 'github'),
    ...wrong,
    tells: /variables\.tenant/,
  },
  {
    what: 'other addresses for a built-in provider',
    send: put(
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
      what: `a provider that signs people in at ${JSON.stringify(address)}`,
      send: define({ authorization_url: address }),
      ...invalid,
      tells: /authorization_url/,
    }),
  ),
  ...['http://id.example/token', 'http://169.254.169.254/token'].map((address) => ({
    what: `a provider whose tokens come from ${address}`,
    send: define({ token_url: address }),
    ...wrong,
    tells: /token_url/,
  })),
  ...['https://169.254.169.254', 'https://127.0.0.1:1', 'https://[::1]'].map((issuer) => ({
    what: `a provider that describes itself inside (${issuer})`,
    send: define({ issuer }),
    ...wrong,
    tells: /issuer/,
  })),
  ...['https://169.254.169.254/mcp', 'https://[::1]/mcp'].map((address) => ({
    what: `a provider for an MCP server inside (${address})`,
    send: put({ definition: { title: 'Own', mcp_server: address } }),
    ...wrong,
    tells: /mcp_server/,
  })),
  {
    what: 'a provider that is found in two ways',
    send: define({ issuer: 'https://id.example', mcp_server: 'https://mcp.example/mcp' }),
    ...invalid,
    tells: /mcp_server/,
  },
  {
    what: 'an app without a client at a provider that is built in',
    send: put({ client_id: undefined, client_secret: undefined }, 'slack'),
    ...invalid,
    tells: /client_id/,
  },
  {
    what: 'an app with the secret of no client',
    send: put({
      client_id: undefined,
      definition: { title: 'Own', mcp_server: 'https://a.example' },
    }),
    ...invalid,
    tells: /client_id/,
  },
  {
    what: 'a provider whose tokens may go nowhere',
    send: define({ hosts: [] }),
    ...invalid,
    tells: /hosts/,
  },
  {
    what: 'the end of an app that nobody has set up',
    send: ({ admin }) => admin.delete('/v1/oauth-apps/slack'),
    status: 404,
    error: 'not_found',
  },
  {
    what: 'the end of an app of the environment',
    send: ({ admin }) => admin.delete('/v1/oauth-apps/github'),
    status: 409,
    error: 'conflict',
    tells: /environment/,
  },
];
