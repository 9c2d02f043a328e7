import { once } from 'node:events';
import { createServer } from 'node:http';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { gzipSync } from 'node:zlib';

export interface CarelessUpstream extends Disposable {
  readonly url: string;
  readonly host: string;
  /** Credentials that arrived, by the path that they were sent to. */
  readonly received: ReadonlyMap<string, ReadonlySet<string>>;
}

/** Where it repeats what it was sent, each in its own way. */
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

/** A third-party API that repeats credentials in everything it says, errors and broken answers included. */
export async function startCarelessUpstream(): Promise<CarelessUpstream> {
  const received = new Map<string, Set<string>>();
  const server = createServer((request, reply) => {
    request.resume().on('end', () => {
      const path = new URL(request.url ?? '', 'http://upstream').pathname;
      const found = credentialIn(request);
      received.set(path, (received.get(path) ?? new Set()).add(found));
      (answers[path as Path] ?? answers['/body'])(found, reply);
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const host = `127.0.0.1:${(server.address() as AddressInfo).port}`;
  return {
    url: `http://${host}`,
    host,
    received,
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

function spellings(found: string) {
  const bytes = Buffer.from(found);
  return {
    raw: found,
    base64: bytes.toString('base64'),
    basic: Buffer.from(`user:${found}`).toString('base64'),
    base64url: bytes.toString('base64url'),
    hex: bytes.toString('hex'),
    HEX: bytes.toString('hex').toUpperCase(),
    url: encodeURIComponent(found),
    form: new URLSearchParams({ found }).toString(),
    json: JSON.stringify({ found }),
    sentence: `The key ${found} may not do this.`,
  };
}

const answers: Record<Path, (found: string, reply: ServerResponse) => void> = {
  '/body': (found, reply) => {
    reply.writeHead(200, { 'content-type': 'application/json' });
    reply.end(JSON.stringify({ [found]: 'as a name', ...spellings(found) }));
  },
  '/headers': (found, reply) => {
    const { json: _, raw, ...rest } = spellings(encodeURI(found));
    for (const [name, value] of Object.entries({ raw, ...rest })) {
      reply.setHeader(`x-${name.toLowerCase()}-${name.length}`, value);
    }
    reply.setHeader('set-cookie', `token=${rest.base64}; Path=/`);
    reply.setHeader('www-authenticate', `Bearer error_description="${raw} is not known"`);
    reply.writeHead(401).end();
  },
  '/redirect': (found, reply) => {
    const query = new URLSearchParams({ token: found, also: spellings(found).hex });
    reply.writeHead(302, { location: `https://elsewhere.example/?${query.toString()}` }).end();
  },
  '/gzip': (found, reply) => {
    reply.writeHead(200, { 'content-type': 'application/json', 'content-encoding': 'gzip' });
    reply.end(gzipSync(JSON.stringify(spellings(found))));
  },
  '/error': (found, reply) => {
    reply.writeHead(500, { 'content-type': 'application/problem+json' });
    reply.end(JSON.stringify({ detail: `refused ${found}`, trace: [spellings(found)] }));
  },
  '/page': (found, reply) => {
    reply.writeHead(403, { 'content-type': 'text/html' });
    reply.end(`<p>${found}</p><!-- ${JSON.stringify(spellings(found))} -->`);
  },
  '/hang-up': (found, reply) => {
    reply.writeHead(200, { 'content-type': 'text/plain', 'content-length': '100000' });
    reply.write(found, () => reply.destroy());
  },
  '/no-http': (found, reply) => {
    reply.socket?.end(`HTTP/1.1 200 ${encodeURI(found)}\r\nx bad ${encodeURI(found)}: 1\r\n\r\n`);
  },
  '/large': (found, reply) => {
    reply.writeHead(200, { 'content-type': 'text/plain' });
    const filler = 'x'.repeat(9_973);
    for (let part = 0; part < 70; part += 1)
      reply.write(`${filler}${found}${spellings(found).hex}`);
    reply.end();
  },
};
