import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';

import { answerWithPage, createMessagePage } from '#pages';

/** The browser's redirect: its URL, and a function that sends the page to show. */
export interface Callback {
  readonly url: URL;
  readonly showPage: (title: string, message: string) => void;
}

export interface CallbackServer extends AsyncDisposable {
  readonly redirectUri: string;
  /**
   * Resolves with the first request that carries the right `state`. All other requests are refused.
   */
  readonly firstCallback: Promise<Callback>;
}

/** Waits for the browser's redirect, on a free port of this machine (RFC 8252 section 7.3). */
export async function openCallbackServer(path: string, state: string): Promise<CallbackServer> {
  const { promise, resolve } = Promise.withResolvers<Callback>();
  let isAnswered = false;
  const server = createServer((request, response) => {
    const show = (status: number, title: string, message: string) => {
      const { cookie: cookies } = request.headers;
      const { headers, html } = answerWithPage(createMessagePage(title, message), { cookies });
      response.writeHead(status, { ...headers, 'cache-control': 'no-store', connection: 'close' });
      response.end(html);
    };
    const url = URL.parse(request.url ?? '', redirectUri);
    const isExpectedCallback =
      request.method === 'GET' &&
      request.headers.host === new URL(redirectUri).host &&
      url?.pathname === path &&
      url.searchParams.get('state') === state;
    if (!isExpectedCallback || !url || isAnswered) {
      return show(400, 'Not the answer', 'This is not the answer to the login that is under way.');
    }
    isAnswered = true;
    resolve({ url, showPage: (title, message) => show(200, title, message) });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const redirectUri = `http://127.0.0.1:${port}${path}`;
  return {
    redirectUri,
    firstCallback: promise,
    [Symbol.asyncDispose]: async () => {
      server.close();
      server.closeIdleConnections();
      await once(server, 'close', { signal: AbortSignal.timeout(2_000) }).catch(() =>
        server.closeAllConnections(),
      );
    },
  };
}
