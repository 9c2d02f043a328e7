import { created } from '../support/world.ts';
import { redirectTo } from './site.testing.ts';
import { costly, createNames } from './stage.testing.ts';
import type { Entry, Stage } from './stage.testing.ts';

const hostsMax = 50;

/** Providers of the org's own at which accounts are connected, and what is called with an account. */
export async function accountEntries(stage: Stage, urls: readonly string[]): Promise<Entry[]> {
  const { admin, site } = stage;
  const providers = createNames('own');
  const { put, connect } = createAccounts(stage);
  const tokens = { authorization_url: `${site.origin}/authorize`, token_url: site.at('token') };
  const endpoints = { ...tokens, userinfo_url: site.at('account') };
  const redirectOf = (url: string) => site.at('redirect', url);
  /** Connects an account at a provider defined like this, and ends it again: here, and there. */
  const pass = (definition: object, use = async (_id: string): Promise<unknown> => undefined) =>
    providers(async (key) => {
      const id = await connect(key, definition);
      if (id === undefined) return;
      try {
        await use(id);
      } finally {
        await admin.delete(`/v1/connections/${id}`);
      }
    });
  site.on('refresh', ({ url, body }) =>
    body.includes('grant_type=refresh_token') ? redirectTo(url) : granted,
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
  const unregistered = (issuer: string) =>
    providers((key) =>
      admin.put(`/v1/oauth-apps/${key}`, {
        definition: { title: 'Own', hosts: ['api.example.com'], issuer },
      }),
    );

  const rows: [string, (url: string) => Promise<unknown>][] = [
    ['the issuer of a provider', (url) => providers((key) => put(key, { issuer: url }))],
    ['the MCP server of a provider', (url) => providers((key) => put(key, { mcp_server: url }))],
    [
      'the metadata that the MCP server of a provider names',
      (url) => providers((key) => put(key, { mcp_server: site.at('challenge', url) })),
    ],
    [
      'the issuer that the MCP server of a provider names',
      (url) => providers((key) => put(key, { mcp_server: site.at('names-issuer', url) })),
    ],
    [
      'the registration endpoint that metadata names',
      (url) => unregistered(site.at('names-registration', url)),
    ],
    [
      'the token endpoint that metadata names',
      (url) => pass({ issuer: site.at('names-tokens', url) }),
    ],
    [
      'the other endpoints that metadata names',
      (url) => pass({ issuer: site.at('names-others', url) }),
    ],
    ['the token endpoint of a provider', (url) => pass({ ...tokens, token_url: url })],
    ['the userinfo of a provider', (url) => pass({ ...tokens, userinfo_url: url })],
    ['the revocation at a provider', (url) => pass({ ...endpoints, revocation_url: url })],
  ];
  const neverCalled: [string, (url: string) => Promise<unknown>][] = [
    [
      'a redirect of the issuer of a provider',
      (url) => providers((key) => put(key, { issuer: redirectOf(url) })),
    ],
    ['a redirect of a token endpoint', (url) => pass({ ...tokens, token_url: redirectOf(url) })],
    [
      'a redirect of a refresh',
      (url) =>
        pass({ ...endpoints, token_url: site.at('refresh', url) }, (id) =>
          admin.post(`/v1/connections/${id}/refresh`),
        ),
    ],
    ['a redirect of the userinfo', (url) => pass({ ...tokens, userinfo_url: redirectOf(url) })],
    [
      'a redirect of the revocation',
      (url) => pass({ ...endpoints, revocation_url: redirectOf(url) }),
    ],
  ];
  return [
    await connectionCall(stage, { connect, urls }),
    ...rows.map(([name, attempt]): Entry => ({ name, ...costly, attempt })),
    ...neverCalled.map(([name, attempt]): Entry => ({
      name,
      ...costly,
      isNeverCalled: true,
      attempt,
    })),
  ];

  function metadataOf(issuer: string, others?: string): object {
    const named = ['userinfo_endpoint', 'revocation_endpoint', 'introspection_endpoint'];
    const unused = ['jwks_uri', 'registration_endpoint', 'end_session_endpoint'];
    return {
      issuer,
      authorization_endpoint: `${site.origin}/authorize`,
      response_types_supported: ['code'],
      ...Object.fromEntries(
        others === undefined ? [] : [...named, ...unused].map((name) => [name, others]),
      ),
    };
  }
}

type Connect = ReturnType<typeof createAccounts>['connect'];

/** Raw HTTP with a token, which may go to all of the hosts: those rules are not what is tried here. */
async function connectionCall(
  { admin, site }: Stage,
  { connect, urls }: { connect: Connect; urls: readonly string[] },
): Promise<Entry> {
  const all = new Set(urls.map((url) => URL.parse(url)?.host ?? ''));
  const hosts = [...all].filter((host) => host !== '' && !/\.(:\d+)?$/.test(host));
  const nameOf = new Map<string, string>();
  for (let at = 0; at < hosts.length; at += hostsMax) {
    const name = `work${at}`;
    const some = hosts.slice(at, at + hostsMax);
    const addresses = { authorization_url: site.origin, token_url: site.at('token') };
    await connect('work', { ...addresses, hosts: some }, name);
    for (const host of some) nameOf.set(host, name);
  }
  return {
    name: 'a call with a connection',
    oneOf: 41,
    attempt(url) {
      const connection = nameOf.get(URL.parse(url)?.host ?? '') ?? 'work0';
      const call = { connection, method: 'GET', url, timeout_ms: 3_000 };
      return admin.post('/v1/actions/http', call);
    },
  };
}

const granted = {
  json: {
    access_token: 'CANARY-access',
    refresh_token: 'CANARY-refresh',
    token_type: 'Bearer',
    expires_in: 3_600,
    scope: 'read',
  },
};

function createAccounts({ admin, site }: Stage) {
  site.on('token', () => granted);
  site.on('account', () => ({ json: { sub: 'x', email: 'ann@example.com' } }));
  let count = 0;
  const put = (provider: string, definition: object) =>
    admin.put(`/v1/oauth-apps/${provider}`, {
      client_id: 'gateway',
      client_secret: 'CANARY-client',
      definition: { title: 'Own', hosts: ['api.example.com'], ...definition },
    });
  /** Goes the owner's way to the provider and back; undefined where the provider is refused. */
  const connect = async (
    provider: string,
    definition: object,
    name = `c${(count += 1)}`,
  ): Promise<string | undefined> => {
    if ((await put(provider, definition)).status > 299) return undefined;
    const asked = created(await admin.post('/v1/connections', { provider, name }));
    try {
      const begun = await admin.post(new URL(asked.authorization_url).pathname);
      const { searchParams } = new URL(begun.headers.get('location') ?? '');
      const state = searchParams.get('state') ?? '';
      const answer = new URLSearchParams({ code: 'CANARY-code', state });
      await admin.get(`/v1/connections/callback/${provider}?${answer.toString()}`);
      return asked.id;
    } catch (thrown) {
      // So many may wait to be completed.
      await admin.delete(`/v1/connections/${asked.id}`);
      throw thrown;
    }
  };
  return { put, connect };
}
