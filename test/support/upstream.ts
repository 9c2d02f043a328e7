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
  /** The upstream's `host:port`, in the form that `EGRESS_ALLOW` and `allowed_hosts` accept. */
  readonly host: string;
  /** Every request that arrived, in order. */
  readonly hits: readonly Hit[];
  /** The delay before each answer in milliseconds. */
  delayMs: number;
  /** The bearer tokens that the upstream accepts; null if it requires none. */
  knownTokens: readonly string[] | null;
  /** If set, every request is refused with 403 and an answer that names this scope as missing. */
  scopeLacking: string | null;
}

/**
 * Starts a third-party API that logs every request. Its path `/echo` repeats the whole request in
 * the answer, as some careless APIs do.
 */
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
      const answer = JSON.stringify(
        isEcho ? { ...hit, ...encodingsOf(headers, url) } : { ok: true },
      );
      setTimeout(() => {
        const token = headers.authorization?.replace('Bearer ', '') ?? '';
        const isRefused = upstream.knownTokens?.includes(token) === false;
        const { scopeLacking } = upstream;
        const done = isEcho || method === 'GET' ? 200 : 201;
        const status = isRefused ? 401 : scopeLacking === null ? done : 403;
        if (scopeLacking !== null) {
          const challenge = `Bearer error="insufficient_scope", scope="${scopeLacking}"`;
          reply.setHeader('www-authenticate', challenge);
        }
        reply.writeHead(status, {
          'content-type': 'application/json',
          ...echoedHeadersOf(isEcho, headers),
        });
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
    knownTokens: null,
    scopeLacking: null,
    [Symbol.dispose]() {
      server.closeAllConnections();
      server.close();
    },
  };
  return upstream;
}

/**
 * The credential in several encodings, because some APIs repeat their input in another encoding.
 */
function encodingsOf(headers: IncomingHttpHeaders, url: string): Record<string, string> {
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

function echoedHeadersOf(isEcho: boolean, headers: IncomingHttpHeaders): Record<string, string> {
  const credential = credentialIn(headers);
  return isEcho && credential !== null ? { 'x-echo': credential } : {};
}
