import { successfulBodyOf } from '../../support/world.ts';
import { redirectTo } from './site.testing.ts';
import { costlyEntry, createNamePool } from './stage.testing.ts';
import type { Entry, Stage } from './stage.testing.ts';

const hostsMax = 50;

/**
 * The entry points that call URLs of OAuth providers which an org defines, and a call through a
 * connection.
 */
export async function createAccountEntries(
  stage: Stage,
  urls: readonly string[],
): Promise<Entry[]> {
  const { admin, site } = stage;
  const withProviderName = createNamePool('own');
  const { put, connect } = createAccounts(stage);
  const tokenEndpoints = {
    authorization_url: `${site.origin}/authorize`,
    token_url: site.at('token'),
  };
  const endpoints = { ...tokenEndpoints, userinfo_url: site.at('account') };
  const redirectOf = (url: string) => site.at('redirect', url);
  /**
   * Connects an account at a provider with this definition, uses the account, and deletes the
   * connection, which also revokes the account's token at the provider.
   */
  const connectAndUse = (
    definition: object,
    useConnection = async (_id: string): Promise<unknown> => undefined,
  ) =>
    withProviderName(async (key) => {
      const id = await connect(key, definition);
      if (id === undefined) return;
      try {
        await useConnection(id);
      } finally {
        await admin.delete(`/v1/connections/${id}`);
      }
    });
  site.on('refresh', ({ url, body }) =>
    body.includes('grant_type=refresh_token') ? redirectTo(url) : tokenAnswer,
  );
  site.on('names-tokens', ({ url, number }) => ({
    json: { ...metadataOf(`${site.origin}/names-tokens/${number}`), token_endpoint: url },
  }));
  site.on('names-others', ({ url, number }) => ({
    json: {
      ...metadataOf(`${site.origin}/names-others/${number}`, url),
      token_endpoint: site.at('token'),
    },
  }));
  site.on('names-issuer', ({ url, number }) => ({
    json: { resource: `${site.origin}/names-issuer/${number}`, authorization_servers: [url] },
  }));
  site.on('names-registration', ({ url, number }) => ({
    json: {
      ...metadataOf(`${site.origin}/names-registration/${number}`),
      token_endpoint: site.at('token'),
      registration_endpoint: url,
    },
  }));
  const putUnregisteredApp = (issuer: string) =>
    withProviderName((key) =>
      admin.put(`/v1/oauth-apps/${key}`, {
        definition: { title: 'Own', hosts: ['api.example.com'], issuer },
      }),
    );

  const rows: [string, (url: string) => Promise<unknown>][] = [
    ['the issuer of a provider', (url) => withProviderName((key) => put(key, { issuer: url }))],
    [
      'the MCP server of a provider',
      (url) => withProviderName((key) => put(key, { mcp_server: url })),
    ],
    [
      'the metadata that the MCP server of a provider names',
      (url) => withProviderName((key) => put(key, { mcp_server: site.at('challenge', url) })),
    ],
    [
      'the issuer that the MCP server of a provider names',
      (url) => withProviderName((key) => put(key, { mcp_server: site.at('names-issuer', url) })),
    ],
    [
      'the registration endpoint that metadata names',
      (url) => putUnregisteredApp(site.at('names-registration', url)),
    ],
    [
      'the token endpoint that metadata names',
      (url) => connectAndUse({ issuer: site.at('names-tokens', url) }),
    ],
    [
      'the other endpoints that metadata names',
      (url) => connectAndUse({ issuer: site.at('names-others', url) }),
    ],
    [
      'the token endpoint of a provider',
      (url) => connectAndUse({ ...tokenEndpoints, token_url: url }),
    ],
    [
      'the userinfo of a provider',
      (url) => connectAndUse({ ...tokenEndpoints, userinfo_url: url }),
    ],
    ['the revocation at a provider', (url) => connectAndUse({ ...endpoints, revocation_url: url })],
  ];
  const neverCalledAttempts: [string, (url: string) => Promise<unknown>][] = [
    [
      'a redirect of the issuer of a provider',
      (url) => withProviderName((key) => put(key, { issuer: redirectOf(url) })),
    ],
    [
      'a redirect of a token endpoint',
      (url) => connectAndUse({ ...tokenEndpoints, token_url: redirectOf(url) }),
    ],
    [
      'a redirect of a refresh',
      (url) =>
        connectAndUse({ ...endpoints, token_url: site.at('refresh', url) }, (id) =>
          admin.post(`/v1/connections/${id}/refresh`),
        ),
    ],
    [
      'a redirect of the userinfo',
      (url) => connectAndUse({ ...tokenEndpoints, userinfo_url: redirectOf(url) }),
    ],
    [
      'a redirect of the revocation',
      (url) => connectAndUse({ ...endpoints, revocation_url: redirectOf(url) }),
    ],
  ];
  return [
    await createConnectionCallEntry(stage, { connect, urls }),
    ...rows.map(([name, attempt]): Entry => ({ name, ...costlyEntry, attempt })),
    ...neverCalledAttempts.map(([name, attempt]): Entry => ({
      name,
      ...costlyEntry,
      isNeverCalled: true,
      attempt,
    })),
  ];

  function metadataOf(issuer: string, others?: string): object {
    const namedEndpoints = ['userinfo_endpoint', 'revocation_endpoint', 'introspection_endpoint'];
    const unusedEndpoints = ['jwks_uri', 'registration_endpoint', 'end_session_endpoint'];
    return {
      issuer,
      authorization_endpoint: `${site.origin}/authorize`,
      response_types_supported: ['code'],
      ...Object.fromEntries(
        others === undefined
          ? []
          : [...namedEndpoints, ...unusedEndpoints].map((name) => [name, others]),
      ),
    };
  }
}

type Connect = ReturnType<typeof createAccounts>['connect'];

/**
 * A call to a full URL through a connection. The connection may be used on every tested host,
 * because this test is not about the rule for a connection's hosts.
 */
async function createConnectionCallEntry(
  { admin, site }: Stage,
  { connect, urls }: { connect: Connect; urls: readonly string[] },
): Promise<Entry> {
  const hostsOfUrls = new Set(urls.map((url) => URL.parse(url)?.host ?? ''));
  const hosts = [...hostsOfUrls].filter((host) => host !== '' && !/\.(:\d+)?$/.test(host));
  const connectionNameByHost = new Map<string, string>();
  for (let at = 0; at < hosts.length; at += hostsMax) {
    const name = `work${at}`;
    const hostsOfConnection = hosts.slice(at, at + hostsMax);
    const addresses = { authorization_url: site.origin, token_url: site.at('token') };
    await connect('work', { ...addresses, hosts: hostsOfConnection }, name);
    for (const host of hostsOfConnection) connectionNameByHost.set(host, name);
  }
  return {
    name: 'a call with a connection',
    oneOf: 163,
    attempt(url) {
      const connection = connectionNameByHost.get(URL.parse(url)?.host ?? '') ?? 'work0';
      const call = { connection, method: 'GET', url, timeout_ms: 3_000 };
      return admin.post('/v1/actions/http', call);
    },
  };
}

const tokenAnswer = {
  json: {
    access_token: 'CANARY-access',
    refresh_token: 'CANARY-refresh',
    token_type: 'Bearer',
    expires_in: 3_600,
    scope: 'read',
  },
};

function createAccounts({ admin, site }: Stage) {
  site.on('token', () => tokenAnswer);
  site.on('account', () => ({ json: { sub: 'x', email: 'ann@example.com' } }));
  let count = 0;
  const putApp = (provider: string, definition: object) =>
    admin.put(`/v1/oauth-apps/${provider}`, {
      client_id: 'gateway',
      client_secret: 'CANARY-client',
      definition: { title: 'Own', hosts: ['api.example.com'], ...definition },
    });
  /**
   * Connects an account through the pages of the gateway and the provider; returns undefined if the
   * gateway refuses the provider.
   */
  const connect = async (
    provider: string,
    definition: object,
    name = `c${(count += 1)}`,
  ): Promise<string | undefined> => {
    if ((await putApp(provider, definition)).status > 299) return undefined;
    const requestedConnection = successfulBodyOf(
      await admin.post('/v1/connections', { provider, name }),
    );
    try {
      const begunFlow = await admin.post(new URL(requestedConnection.authorization_url).pathname);
      const { searchParams } = new URL(begunFlow.headers.get('location') ?? '');
      const state = searchParams.get('state') ?? '';
      const answer = new URLSearchParams({ code: 'CANARY-code', state });
      await admin.get(`/v1/connections/callback/${provider}?${answer.toString()}`);
      return requestedConnection.id;
    } catch (thrown) {
      // Deletes the connection, because the number of connections that wait for their owner is
      // limited.
      await admin.delete(`/v1/connections/${requestedConnection.id}`);
      throw thrown;
    }
  };
  return { put: putApp, connect };
}
