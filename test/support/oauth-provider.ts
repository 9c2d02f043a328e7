import { once } from 'node:events';
import { createServer } from 'node:http';
import type { IncomingHttpHeaders } from 'node:http';
import type { AddressInfo } from 'node:net';

import { Events, OAuth2Server } from 'oauth2-mock-server';
import type { MutableResponse } from 'oauth2-mock-server';

/**
 * An OAuth provider on loopback that issues new tokens for each request. Tests can make its answers
 * slow or wrong.
 */
export interface TestProvider extends AsyncDisposable {
  readonly issuer: string;
  readonly host: string;
  /** The form of every token request, in order. */
  readonly tokenRequests: Record<string, string>[];
  /** The number of token requests that asked for a refresh. */
  refreshes(): number;
  /** Every request that has arrived, unparsed. */
  readonly hits: ProviderHit[];
  /** The tokens that the provider has issued, in order. */
  readonly issuedTokens: Record<string, string>[];
  /** Changes the token endpoint's answer before it is sent; null sends the answer unchanged. */
  changeAnswer: ((response: MutableResponse, form: Record<string, string>) => void) | null;
  /** The account with which the person is signed in at the provider. */
  account: { sub: string; email: string };
  expiresInSeconds: number | null;
  /** If set, the token endpoint waits for this function before it answers. */
  waitBeforeAnswer: (() => Promise<void>) | null;
}

export interface ProviderHit {
  readonly method: string;
  readonly path: string;
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
}

export async function startTestProvider(name = 'mock'): Promise<TestProvider> {
  const mock = new OAuth2Server();
  await mock.issuer.keys.generate('RS256');
  await mock.start(0, '127.0.0.1');
  const mockUrl = new URL(mock.issuer.url ?? '');

  // This server forwards requests to the mock. It adds what the mock cannot do: wait, close a
  // connection, and also answer below the path `/other`.
  const provider: TestProvider = {
    issuer: '',
    host: '',
    tokenRequests: [],
    hits: [],
    issuedTokens: [],
    refreshes: () =>
      provider.tokenRequests.filter(({ grant_type }) => grant_type === 'refresh_token').length,
    changeAnswer: null,
    account: { sub: 'account-1', email: 'ann@example.com' },
    expiresInSeconds: 3600,
    waitBeforeAnswer: null,
    async [Symbol.asyncDispose]() {
      frontServer.closeAllConnections();
      frontServer.close();
      await once(frontServer, 'close');
      await mock.stop();
    },
  };
  const frontServer = createServer((request, reply) => {
    void (async () => {
      const chunks: Buffer[] = [];
      for await (const chunk of request) chunks.push(chunk as Buffer);
      const body = Buffer.concat(chunks);
      const { method = 'GET', url = '/', headers } = request;
      provider.hits.push({ method, path: url, headers, body: body.toString() });
      const path = url.replace(/^\/other/, '');
      const providerAnswer = await fetch(new URL(path, mockUrl), {
        method: request.method ?? 'GET',
        headers: Object.fromEntries(
          Object.entries(request.headers)
            .filter(([header]) => !['host', 'connection', 'content-length'].includes(header))
            .map(([header, value]) => [header, String(value)]),
        ),
        redirect: 'manual',
        ...(body.length === 0 ? {} : { body }),
      });
      const text = await providerAnswer.text();
      if (request.url === '/token') await provider.waitBeforeAnswer?.();
      const location = providerAnswer.headers.get('location');
      reply.writeHead(providerAnswer.status, {
        'content-type': providerAnswer.headers.get('content-type') ?? 'text/plain',
        ...(location === null ? {} : { location }),
      });
      reply.end(text);
    })().catch(() => reply.destroy());
  });
  frontServer.listen(0, '127.0.0.1');
  await once(frontServer, 'listening');
  const host = `127.0.0.1:${(frontServer.address() as AddressInfo).port}`;
  Object.assign(provider, { host, issuer: `http://${host}` });
  mock.issuer.url = provider.issuer;

  mock.service.on(Events.BeforeResponse, (response, request) => {
    const form = (request as unknown as { body: Record<string, string> }).body;
    provider.tokenRequests.push({ ...form });
    const n = provider.issuedTokens.length + 1;
    const [access, refresh] = [`CANARY-access-${name}-${n}`, `CANARY-refresh-${name}-${n}`];
    provider.issuedTokens.push({ access, refresh });
    response.body = {
      access_token: access,
      refresh_token: refresh,
      token_type: 'Bearer',
      scope: 'read write',
      ...(provider.expiresInSeconds === null ? {} : { expires_in: provider.expiresInSeconds }),
    };
    provider.changeAnswer?.(response, form);
  });
  mock.service.on(Events.BeforeUserinfo, (response) => {
    response.body = { ...provider.account };
  });
  return provider;
}
