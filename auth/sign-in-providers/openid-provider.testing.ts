import { generateKeyPairSync, randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';

import { Provider } from 'oidc-provider';

/** The claims of the person who is signed in at the provider. */
export interface Account {
  readonly sub: string;
  readonly email?: string;
  readonly email_verified?: boolean;
  readonly groups?: readonly string[];
}

export interface OpenidProvider extends AsyncDisposable {
  readonly issuer: string;
  readonly host: string;
  readonly clientId: string;
  readonly clientSecret: string;
  /**
   * The person who is signed in at the provider, in every browser. With null, the provider responds
   * with `access_denied`.
   */
  account: Account | null;
  /** The number of requests to the provider's token endpoint. */
  readonly tokenRequests: { count: number };
}

/** A real OpenID Connect provider on loopback, without a password prompt. */
export async function startOpenidProvider(
  redirectUris: readonly string[],
): Promise<OpenidProvider> {
  const server = createServer();
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const host = `127.0.0.1:${(server.address() as AddressInfo).port}`;
  const issuer = `http://${host}`;
  const clientId = 'gateway';
  const clientSecret = 'CANARY-client-secret';
  const tokenRequests = { count: 0 };
  let account: Account | null = null;

  const { privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });
  const provider = new Provider(issuer, {
    clients: [
      { client_id: clientId, client_secret: clientSecret, redirect_uris: [...redirectUris] },
    ],
    jwks: { keys: [{ ...privateKey.export({ format: 'jwk' }), use: 'sig', alg: 'RS256' }] },
    cookies: { keys: [randomBytes(16).toString('hex')] },
    scopes: ['openid', 'email', 'profile', 'groups'],
    claims: { openid: ['sub'], email: ['email', 'email_verified'], groups: ['groups'] },
    ttl: { AccessToken: 60, Grant: 60, IdToken: 60, Interaction: 60, Session: 60 },
    features: { devInteractions: { enabled: false } },
    interactions: { url: (_context, { uid }) => `/interaction/${uid}` },
    async findAccount(_context, sub) {
      const currentAccount = account;
      return { accountId: sub, claims: async () => ({ ...currentAccount, sub }) };
    },
  });
  const handleByProvider = provider.callback();
  server.on('request', (request, response) => {
    if (request.url === '/token') tokenRequests.count += 1;
    if (!request.url?.startsWith('/interaction/')) return void handleByProvider(request, response);
    void finishInteraction(provider, account).then((finish) => finish(request, response));
  });

  return {
    issuer,
    host,
    clientId,
    clientSecret,
    tokenRequests,
    get account() {
      return account;
    },
    set account(newAccount) {
      account = newAccount;
    },
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
}

type Handler = (
  request: Parameters<Provider['interactionFinished']>[0],
  response: Parameters<Provider['interactionFinished']>[1],
) => Promise<void>;

async function finishInteraction(provider: Provider, account: Account | null): Promise<Handler> {
  return async (request, response) => {
    if (account === null) {
      return provider.interactionFinished(request, response, { error: 'access_denied' });
    }
    const { params } = await provider.interactionDetails(request, response);
    const grant = new provider.Grant({
      accountId: account.sub,
      clientId: String(params['client_id']),
    });
    grant.addOIDCScope(String(params['scope']));
    const result = { login: { accountId: account.sub }, consent: { grantId: await grant.save() } };
    return provider.interactionFinished(request, response, result);
  };
}

/** Follows redirects with a new cookie jar until one leads to `callback`, and returns that URL. */
export async function followRedirects(url: string, callback: string): Promise<URL> {
  const cookieJar = new Map<string, string>();
  let at = url;
  for (let step = 0; step < 10; step += 1) {
    const reply = await fetch(at, {
      redirect: 'manual',
      headers: { cookie: [...cookieJar].map(([name, value]) => `${name}=${value}`).join('; ') },
    });
    for (const cookie of reply.headers.getSetCookie()) {
      const [name = '', value = ''] = (cookie.split(';')[0] ?? '').split(/=(.*)/s);
      cookieJar.set(name, value);
    }
    const location = reply.headers.get('location');
    if (location === null) throw new Error(`${at} answered ${reply.status}: ${await reply.text()}`);
    at = new URL(location, at).href;
    if (at.startsWith(callback)) return new URL(at);
  }
  throw new Error(`${url} never came back`);
}
