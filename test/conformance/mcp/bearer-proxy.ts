import { once } from 'node:events';
import { createServer, request } from 'node:http';
import type { AddressInfo } from 'node:net';

export interface BearerProxy extends AsyncDisposable {
  readonly url: string;
}

/**
 * The conformance suite cannot send a credential, so this adds one on the way. `Host` and
 * `Origin` pass as they came, but for the proxy's own name, which becomes the server's.
 */
export async function startBearerProxy(target: string, token: string): Promise<BearerProxy> {
  const { host: targetHost, hostname, port } = new URL(target);
  const server = createServer((incoming, outgoing) => {
    const own = `localhost:${(server.address() as AddressInfo).port}`;
    const rename = (text: string | undefined) => text?.replace(own, targetHost);
    const { host, origin, ...headers } = incoming.headers;
    const forwarded = request({
      hostname,
      port,
      method: incoming.method,
      path: incoming.url,
      headers: {
        ...headers,
        host: rename(host),
        ...(origin === undefined ? {} : { origin: rename(origin) }),
        authorization: `Bearer ${token}`,
      },
    });
    forwarded.on('response', (answer) => {
      outgoing.writeHead(answer.statusCode ?? 502, answer.headers);
      outgoing.flushHeaders();
      answer.pipe(outgoing);
    });
    forwarded.on('error', () => outgoing.destroy());
    outgoing.on('close', () => forwarded.destroy());
    incoming.pipe(forwarded);
  });
  server.listen(0, 'localhost');
  await once(server, 'listening');
  return {
    url: `http://localhost:${(server.address() as AddressInfo).port}`,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      server.close();
    },
  };
}
