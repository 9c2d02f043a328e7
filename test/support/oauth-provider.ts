import { once } from 'node:events';
import { createServer } from 'node:http';
import type { IncomingHttpHeaders } from 'node:http';
import type { AddressInfo } from 'node:net';

import { Events, OAuth2Server } from 'oauth2-mock-server';
import type { MutableResponse } from 'oauth2-mock-server';

/** An OAuth provider on loopback that issues one set of tokens after the other, and can be told to misbehave. */
export interface TestProvider extends AsyncDisposable {
  readonly issuer: string;
  readonly host: string;
  /** Every token request, in order: its form. */
  readonly tokenRequests: Record<string, string>[];
  /** How many of them asked for a refresh. */
  refreshes(): number;
  /** Everything that arrived, as it came. */
  readonly hits: ProviderHit[];
  /** The tokens that it has made, in order. */
  readonly issued: Record<string, string>[];
  /** Changes what the token endpoint is about to answer; null again: as it is. */
  answer: ((response: MutableResponse, form: Record<string, string>) => void) | null;
  /** Who is signed in there. */
  account: { sub: string; email: string };
  expiresIn: number | null;
  /** Takes part in what is going on at the token endpoint before it answers. */
  pause: (() => Promise<void>) | null;
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
  const inner = new URL(mock.issuer.url ?? '');

  // In front of it: what it cannot be told to do is to wait, to hang up, or to live at a path (/other) too.
  const provider: TestProvider = {
    issuer: '',
    host: '',
    tokenRequests: [],
    hits: [],
    issued: [],
    refreshes: () =>
      provider.tokenRequests.filter(({ grant_type }) => grant_type === 'refresh_token').length,
    answer: null,
    account: { sub: 'account-1', email: 'ann@example.com' },
    expiresIn: 3600,
    pause: null,
    async [Symbol.asyncDispose]() {
      front.closeAllConnections();
      front.close();
      await once(front, 'close');
      await mock.stop();
    },
  };
  const front = createServer((request, reply) => {
    void (async () => {
      const chunks: Buffer[] = [];
      for await (const chunk of request) chunks.push(chunk as Buffer);
      const body = Buffer.concat(chunks);
      const { method = 'GET', url = '/', headers } = request;
      provider.hits.push({ method, path: url, headers, body: body.toString() });
      const path = url.replace(/^\/other/, '');
      const answered = await fetch(new URL(path, inner), {
        method: request.method ?? 'GET',
        headers: Object.fromEntries(
          Object.entries(request.headers)
            .filter(([header]) => !['host', 'connection', 'content-length'].includes(header))
            .map(([header, value]) => [header, String(value)]),
        ),
        redirect: 'manual',
        ...(body.length === 0 ? {} : { body }),
      });
      const text = await answered.text();
      if (request.url === '/token') await provider.pause?.();
      const location = answered.headers.get('location');
      reply.writeHead(answered.status, {
        'content-type': answered.headers.get('content-type') ?? 'text/plain',
        ...(location === null ? {} : { location }),
      });
      reply.end(text);
    })().catch(() => reply.destroy());
  });
  front.listen(0, '127.0.0.1');
  await once(front, 'listening');
  const host = `127.0.0.1:${(front.address() as AddressInfo).port}`;
  Object.assign(provider, { host, issuer: `http://${host}` });
  mock.issuer.url = provider.issuer;

  mock.service.on(Events.BeforeResponse, (response, request) => {
    const form = (request as unknown as { body: Record<string, string> }).body;
    provider.tokenRequests.push({ ...form });
    const n = provider.issued.length + 1;
    const [access, refresh] = [`CANARY-access-${name}-${n}`, `CANARY-refresh-${name}-${n}`];
    provider.issued.push({ access, refresh });
    response.body = {
      access_token: access,
      refresh_token: refresh,
      token_type: 'Bearer',
      scope: 'read write',
      ...(provider.expiresIn === null ? {} : { expires_in: provider.expiresIn }),
    };
    provider.answer?.(response, form);
  });
  mock.service.on(Events.BeforeUserinfo, (response) => {
    response.body = { ...provider.account };
  });
  return provider;
}
