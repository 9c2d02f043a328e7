import { once } from 'node:events';
import { createServer } from 'node:https';

import { createCertificate } from '../../../services-src/egress/certificate.testing.ts';

/** A request for an address of the site that stands for one of the URLs. */
export interface Asked {
  readonly url: string;
  readonly number: number;
  readonly path: string;
  readonly body: string;
}

export interface Answer {
  readonly status?: number;
  readonly headers?: Readonly<Record<string, string>>;
  readonly json?: unknown;
  /** It names the URL: whoever follows what the site says would call it. */
  readonly isTold?: boolean;
}

/** A server at a public address, which the product may call and which tells it where else to go. */
export interface Site extends AsyncDisposable {
  readonly origin: string;
  /** Its certificate, to be trusted. */
  readonly certificate: string;
  /** How many of its answers named a URL that is tried. */
  told(): number;
  /** What is answered below the paths `at(kind, …)`. */
  on(kind: string, answer: (asked: Asked) => Answer): void;
  /** An address that stands for this URL. */
  at(kind: string, url?: string): string;
}

const address = '9.9.9.9';
/** None of those on which every address has a listener. */
const port = 9443;
export const redirects = [301, 302, 303, 307, 308] as const;

/** `redirect` is there from the start: all redirects there are, in turn. */
export async function startSite(): Promise<Site> {
  const origin = `https://${address}:${port}`;
  const { key, cert } = createCertificate(address);
  const kinds = new Map<string, (asked: Asked) => Answer>();
  const urls = [''];
  let told = 0;

  const answer = (path: string, body: string): Answer => {
    const [, kind = '', digits = '0'] = /\/([a-z-]+)\/(\d+)(?:\/|\?|$)/.exec(path) ?? [];
    const number = Number(digits);
    return kinds.get(kind)?.({ url: urls[number] ?? '', number, path, body }) ?? { status: 404 };
  };
  const server = createServer({ key, cert }, (request, reply) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('error', () => {});
    request.on('end', () => {
      const body = Buffer.concat(chunks).toString();
      const { status = 200, headers = {}, json, isTold } = answer(request.url ?? '', body);
      if (isTold === true) told += 1;
      const written = Object.entries(headers).map(([name, value]) => [name, headerText(value)]);
      reply.writeHead(status, {
        'content-type': 'application/json',
        ...Object.fromEntries(written),
      });
      reply.end(json === undefined ? '' : JSON.stringify(json));
    });
  });
  server.listen(port, address);
  await once(server, 'listening');

  const site: Site = {
    origin,
    certificate: cert,
    told: () => told,
    on: (kind, respond) => void kinds.set(kind, respond),
    at: (kind, url = '') => `${origin}/${kind}/${url === '' ? 0 : urls.push(url) - 1}`,
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
  return { status, headers: { location: url }, isTold: true };
}

/** UTF-8 as bytes, which is how servers write it; a control character cannot be sent at all. */
function headerText(value: string): string {
  const bytes = Buffer.from(value).toString('latin1');
  // oxlint-disable-next-line no-control-regex -- control characters are what is looked for
  return bytes.replaceAll(/[\u0000-\u001f\u007f]/g, encodeURIComponent);
}
