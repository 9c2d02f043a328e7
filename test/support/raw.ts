import { request } from 'node:http';

import type { Reply } from './http.ts';

export interface RawRequest {
  readonly method?: string;
  /** The request's path, which is sent unchanged: neither normalised nor encoded. */
  readonly path: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string | Buffer;
}

/** Sends one HTTP request exactly as given. `fetch` would correct a malformed request. */
export function sendRaw(url: string, { method = 'POST', path, headers, body }: RawRequest) {
  const { hostname, port } = new URL(url);
  return new Promise<Reply>((resolve, reject) => {
    const outgoing = request({ hostname, port, method, path, headers: { ...headers } }, (reply) => {
      const chunks: Buffer[] = [];
      reply.on('data', (chunk: Buffer) => chunks.push(chunk));
      reply.on('error', reject);
      reply.on('end', () => {
        const text = Buffer.concat(chunks).toString();
        const receivedHeaders = new Headers(
          Object.entries(reply.headers).map(([name, value]): [string, string] => [
            name,
            String(value),
          ]),
        );
        const isJson = receivedHeaders.get('content-type')?.includes('json') ?? false;
        resolve({
          status: reply.statusCode ?? 0,
          headers: receivedHeaders,
          body: isJson && text !== '' ? JSON.parse(text) : text,
        });
      });
    });
    outgoing.on('error', reject);
    outgoing.end(body);
  });
}
