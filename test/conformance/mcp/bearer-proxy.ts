import { once } from 'node:events';
import { createServer, request } from 'node:http';
import type { AddressInfo } from 'node:net';

export interface BearerProxy extends AsyncDisposable {
  readonly url: string;
}

/**
 * Starts a proxy that adds a credential to each request, because the conformance suite cannot send
 * one. In the headers `Host` and `Origin`, the proxy replaces only its own name, by the server's
 * name.
 */
export async function startBearerProxy(target: string, token: string): Promise<BearerProxy> {
  const { host: targetHost, hostname, port } = new URL(target);
  const server = createServer((incoming, outgoing) => {
    const ownHost = `localhost:${(server.address() as AddressInfo).port}`;
    const renameHost = (text: string | undefined) => text?.replace(ownHost, targetHost);
    const { host, origin, ...headers } = incoming.headers;
    const forwardedRequest = request({
      hostname,
      port,
      method: incoming.method,
      path: incoming.url,
      headers: {
        ...headers,
        host: renameHost(host),
        ...(origin === undefined ? {} : { origin: renameHost(origin) }),
        authorization: `Bearer ${token}`,
      },
    });
    forwardedRequest.on('response', (answer) => {
      outgoing.writeHead(answer.statusCode ?? 502, answer.headers);
      outgoing.flushHeaders();
      answer.pipe(outgoing);
    });
    forwardedRequest.on('error', () => outgoing.destroy());
    outgoing.on('close', () => forwardedRequest.destroy());
    incoming.pipe(forwardedRequest);
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
