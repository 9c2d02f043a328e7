import { request } from 'node:http';

import type { Reply } from '../../support/http.ts';

export interface RawRequest {
  readonly method?: string;
  /** Sent as it stands: nothing is normalised or encoded. */
  readonly path: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string | Buffer;
}

/** One HTTP request byte by byte as given: `fetch` would repair what is meant to be wrong. */
export function sendRaw(url: string, { method = 'POST', path, headers, body }: RawRequest) {
  const { hostname, port } = new URL(url);
  return new Promise<Reply>((resolve, reject) => {
    const outgoing = request({ hostname, port, method, path, headers: { ...headers } }, (reply) => {
      const chunks: Buffer[] = [];
      reply.on('data', (chunk: Buffer) => chunks.push(chunk));
      reply.on('error', reject);
      reply.on('end', () => {
        const text = Buffer.concat(chunks).toString();
        const received = new Headers(
          Object.entries(reply.headers).map(([name, value]): [string, string] => [
            name,
            String(value),
          ]),
        );
        const isJson = received.get('content-type')?.includes('json') ?? false;
        resolve({
          status: reply.statusCode ?? 0,
          headers: received,
          body: isJson && text !== '' ? JSON.parse(text) : text,
        });
      });
    });
    outgoing.on('error', reject);
    outgoing.end(body);
  });
}
