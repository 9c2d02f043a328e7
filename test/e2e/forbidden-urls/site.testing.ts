import { once } from 'node:events';
import { createServer } from 'node:https';

import { createCertificate } from '../../../services-src/egress/certificate.testing.ts';

/** A request to an address of the site. Each address belongs to one of the tested URLs (`url`). */
export interface SiteRequest {
  readonly url: string;
  readonly number: number;
  readonly path: string;
  readonly body: string;
}

export interface Answer {
  readonly status?: number;
  readonly headers?: Readonly<Record<string, string>>;
  readonly json?: unknown;
  /** True if the answer contains the tested URL, so that the product might call it. */
  readonly containsTestedUrl?: boolean;
}

/** A server at a public address that the product may call. Its answers contain the tested URLs. */
export interface Site extends AsyncDisposable {
  readonly origin: string;
  /** The server's certificate, which the product must trust. */
  readonly certificate: string;
  /** The number of answers that have contained a tested URL. */
  told(): number;
  /** Sets the answer to requests below the paths `at(kind, …)`. */
  on(kind: string, answer: (asked: SiteRequest) => Answer): void;
  /** Returns the address of the site for this kind of answer and this tested URL. */
  at(kind: string, url?: string): string;
}

const address = '9.9.9.9';
/**
 * An unusual port: connections to the usual ports, at any address, reach the listener of the test
 * instead of this site.
 */
const port = 9443;
export const redirects = [301, 302, 303, 307, 308] as const;

/**
 * Starts the site. The kind `redirect` exists from the start: it answers with each redirect status
 * in turn.
 */
export async function startSite(): Promise<Site> {
  const origin = `https://${address}:${port}`;
  const { key, cert } = createCertificate(address);
  const answersByKind = new Map<string, (asked: SiteRequest) => Answer>();
  const testedUrls = [''];
  let toldCount = 0;

  const answer = (path: string, body: string): Answer => {
    const [, kind = '', digits = '0'] = /\/([a-z-]+)\/(\d+)(?:\/|\?|$)/.exec(path) ?? [];
    const number = Number(digits);
    return (
      answersByKind.get(kind)?.({ url: testedUrls[number] ?? '', number, path, body }) ?? {
        status: 404,
      }
    );
  };
  const server = createServer({ key, cert }, (request, reply) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('error', () => {});
    request.on('end', () => {
      const body = Buffer.concat(chunks).toString();
      const {
        status = 200,
        headers = {},
        json,
        containsTestedUrl: isTold,
      } = answer(request.url ?? '', body);
      if (isTold === true) toldCount += 1;
      const encodedHeaders = Object.entries(headers).map(([name, value]) => [
        name,
        headerText(value),
      ]);
      reply.writeHead(status, {
        'content-type': 'application/json',
        ...Object.fromEntries(encodedHeaders),
      });
      reply.end(json === undefined ? '' : JSON.stringify(json));
    });
  });
  server.listen(port, address);
  await once(server, 'listening');

  const site: Site = {
    origin,
    certificate: cert,
    told: () => toldCount,
    on: (kind, respond) => void answersByKind.set(kind, respond),
    at: (kind, url = '') => `${origin}/${kind}/${url === '' ? 0 : testedUrls.push(url) - 1}`,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
  site.on('redirect', ({ url, number }) => redirectTo(url, redirects[number % redirects.length]));
  return site;
}

export function redirectTo(url: string, status = 307): Answer {
  return { status, headers: { location: url }, containsTestedUrl: true };
}

/**
 * Returns the header's text as UTF-8 bytes, as servers send it. Control characters are
 * percent-encoded, because HTTP does not allow them.
 */
function headerText(value: string): string {
  const bytes = Buffer.from(value).toString('latin1');
  // oxlint-disable-next-line no-control-regex -- control characters are what is looked for
  return bytes.replaceAll(/[\u0000-\u001f\u007f]/g, encodeURIComponent);
}
