import { once } from 'node:events';
import { createServer } from 'node:http';
import type { IncomingHttpHeaders } from 'node:http';
import type { AddressInfo } from 'node:net';

export interface Hit {
  readonly method: string;
  readonly url: string;
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
}

export interface Upstream extends Disposable {
  readonly url: string;
  /** `host:port`, as `EGRESS_ALLOW` and `allowed_hosts` take it. */
  readonly host: string;
  /** Everything that arrived, in order: the judge of what was sent. */
  readonly hits: readonly Hit[];
  /** How long it thinks before it answers. */
  delayMs: number;
  /** The only bearer tokens that it takes; null: it asks for none. */
  tokens: readonly string[] | null;
}

/** A third-party API that logs what arrives; `/echo` sends all of it back, as careless APIs do. */
export async function startUpstream(): Promise<Upstream> {
  const hits: Hit[] = [];
  const server = createServer((request, reply) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      const { method = '', url = '', headers } = request;
      const hit = { method, url, headers, body: Buffer.concat(chunks).toString() };
      hits.push(hit);
      const isEcho = url.startsWith('/echo');
      const answer = JSON.stringify(isEcho ? { ...hit, ...spellings(headers, url) } : { ok: true });
      setTimeout(() => {
        const token = headers.authorization?.replace('Bearer ', '') ?? '';
        const isRefused = upstream.tokens?.includes(token) === false;
        const status = isRefused ? 401 : isEcho || method === 'GET' ? 200 : 201;
        reply.writeHead(status, { 'content-type': 'application/json', ...echoed(isEcho, headers) });
        reply.end(answer);
      }, upstream.delayMs);
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const host = `127.0.0.1:${(server.address() as AddressInfo).port}`;
  const upstream: Upstream = {
    url: `http://${host}`,
    host,
    hits,
    delayMs: 0,
    tokens: null,
    [Symbol.dispose]() {
      server.closeAllConnections();
      server.close();
    },
  };
  return upstream;
}

/** The credential in the spellings in which APIs repeat what they were sent. */
function spellings(headers: IncomingHttpHeaders, url: string): Record<string, string> {
  const credential =
    credentialIn(headers) ?? new URL(url, 'http://upstream').searchParams.get('key');
  if (credential === null) return {};
  const bytes = Buffer.from(credential);
  return {
    base64: bytes.toString('base64'),
    base64url: bytes.toString('base64url'),
    hex: bytes.toString('hex'),
    url: encodeURIComponent(credential),
    sentence: `Bad credentials: ${credential}`,
  };
}

function credentialIn(headers: IncomingHttpHeaders): string | null {
  return /CANARY-\S+/.exec(headers.authorization ?? '')?.[0] ?? null;
}

function echoed(isEcho: boolean, headers: IncomingHttpHeaders): Record<string, string> {
  const credential = credentialIn(headers);
  return isEcho && credential !== null ? { 'x-echo': credential } : {};
}
