import { once } from 'node:events';
import { createServer } from 'node:http';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { gzipSync } from 'node:zlib';

export interface CarelessUpstream extends Disposable {
  readonly url: string;
  readonly host: string;
  /** The credentials that arrived, by the path of the request that carried them. */
  readonly receivedCredentials: ReadonlyMap<string, ReadonlySet<string>>;
}

/**
 * The paths of the upstream. The answer of each path repeats the request's credential in another
 * way.
 */
export const carelessPaths = [
  '/body',
  '/headers',
  '/redirect',
  '/gzip',
  '/error',
  '/page',
  '/hang-up',
  '/no-http',
  '/large',
] as const;
type Path = (typeof carelessPaths)[number];

/**
 * Starts a third-party API that repeats credentials in every answer, including errors and malformed
 * answers.
 */
export async function startCarelessUpstream(): Promise<CarelessUpstream> {
  const received = new Map<string, Set<string>>();
  const server = createServer((request, reply) => {
    request.resume().on('end', () => {
      const path = new URL(request.url ?? '', 'http://upstream').pathname;
      const foundCredential = credentialIn(request);
      received.set(path, (received.get(path) ?? new Set()).add(foundCredential));
      (answers[path as Path] ?? answers['/body'])(foundCredential, reply);
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const host = `127.0.0.1:${(server.address() as AddressInfo).port}`;
  return {
    url: `http://${host}`,
    host,
    receivedCredentials: received,
    [Symbol.dispose]() {
      server.closeAllConnections();
      server.close();
    },
  };
}

function credentialIn({ headers, url = '' }: IncomingMessage): string {
  const inQuery = [...new URL(url, 'http://upstream').searchParams.values()];
  const inHeaders = Object.values(headers).map((value) => String(value).replace(/^\w+ /, ''));
  return [...inHeaders, ...inQuery].find((value) => value.startsWith('CANARY-')) ?? 'none';
}

function encodingsOf(foundCredential: string) {
  const bytes = Buffer.from(foundCredential);
  return {
    raw: foundCredential,
    base64: bytes.toString('base64'),
    basic: Buffer.from(`user:${foundCredential}`).toString('base64'),
    base64url: bytes.toString('base64url'),
    hex: bytes.toString('hex'),
    HEX: bytes.toString('hex').toUpperCase(),
    url: encodeURIComponent(foundCredential),
    form: new URLSearchParams({ found: foundCredential }).toString(),
    json: JSON.stringify({ found: foundCredential }),
    sentence: `The key ${foundCredential} may not do this.`,
  };
}

const answers: Record<Path, (foundCredential: string, reply: ServerResponse) => void> = {
  '/body': (foundCredential, reply) => {
    reply.writeHead(200, { 'content-type': 'application/json' });
    reply.end(JSON.stringify({ [foundCredential]: 'as a name', ...encodingsOf(foundCredential) }));
  },
  '/headers': (foundCredential, reply) => {
    const { json: _, raw, ...rest } = encodingsOf(encodeURI(foundCredential));
    for (const [name, value] of Object.entries({ raw, ...rest })) {
      reply.setHeader(`x-${name.toLowerCase()}-${name.length}`, value);
    }
    reply.setHeader('set-cookie', `token=${rest.base64}; Path=/`);
    reply.setHeader('www-authenticate', `Bearer error_description="${raw} is not known"`);
    reply.writeHead(401).end();
  },
  '/redirect': (foundCredential, reply) => {
    const query = new URLSearchParams({
      token: foundCredential,
      also: encodingsOf(foundCredential).hex,
    });
    reply.writeHead(302, { location: `https://elsewhere.example/?${query.toString()}` }).end();
  },
  '/gzip': (foundCredential, reply) => {
    reply.writeHead(200, { 'content-type': 'application/json', 'content-encoding': 'gzip' });
    reply.end(gzipSync(JSON.stringify(encodingsOf(foundCredential))));
  },
  '/error': (foundCredential, reply) => {
    reply.writeHead(500, { 'content-type': 'application/problem+json' });
    reply.end(
      JSON.stringify({
        detail: `refused ${foundCredential}`,
        trace: [encodingsOf(foundCredential)],
      }),
    );
  },
  '/page': (foundCredential, reply) => {
    reply.writeHead(403, { 'content-type': 'text/html' });
    reply.end(`<p>${foundCredential}</p><!-- ${JSON.stringify(encodingsOf(foundCredential))} -->`);
  },
  '/hang-up': (foundCredential, reply) => {
    reply.writeHead(200, { 'content-type': 'text/plain', 'content-length': '100000' });
    reply.write(foundCredential, () => reply.destroy());
  },
  '/no-http': (foundCredential, reply) => {
    reply.socket?.end(
      `HTTP/1.1 200 ${encodeURI(foundCredential)}\r\nx bad ${encodeURI(foundCredential)}: 1\r\n\r\n`,
    );
  },
  '/large': (foundCredential, reply) => {
    reply.writeHead(200, { 'content-type': 'text/plain' });
    const filler = 'x'.repeat(9_973);
    for (let part = 0; part < 70; part += 1)
      reply.write(`${filler}${foundCredential}${encodingsOf(foundCredential).hex}`);
    reply.end();
  },
};
