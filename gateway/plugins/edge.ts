import type { FastifyInstance, FastifyRequest } from 'fastify';

import { AppError } from '#errors';
import type { Site } from '../domain/site.ts';
import { isOwnHost } from '../domain/site.ts';
import type { JsonLimits } from '../domain/json-size.ts';
import { parseUntrustedJson } from '../domain/json.ts';
import type { BodyCost } from '../rate-limits.ts';
import { notFound } from './error-handler.ts';

declare module 'fastify' {
  interface FastifyRequest {
    /** What its body costs beside the request itself; null without a body. */
    bodyCost: BodyCost | null;
  }
}

interface EdgeOptions {
  readonly site: () => Site;
  readonly stopping: AbortSignal;
  readonly limits: JsonLimits;
}

/** What holds for every request, whatever it asks for: right host, plain JSON, no sniffing. */
export function registerEdge(app: FastifyInstance, { site, stopping, limits }: EdgeOptions): void {
  app.decorateRequest('bodyCost', null);
  app.addHook('onRequest', (request, reply, next) => {
    void reply.headers({
      'x-request-id': request.id,
      'x-content-type-options': 'nosniff',
      'referrer-policy': 'no-referrer',
      // Answers name what people and agents did; nothing between us and them may keep them.
      'cache-control': 'no-store',
    });
    if (site().isSecure) void reply.header('strict-transport-security', 'max-age=31536000');
    // A client that reads this opens its next connection to a replica that stays.
    if (stopping.aborted) void reply.header('connection', 'close');
    next(refuse(request, site()));
  });

  app.removeAllContentTypeParsers();
  app.addContentTypeParser('application/json', { parseAs: 'buffer' }, (request, body, next) => {
    try {
      const bytes = body as Buffer;
      if (bytes.length === 0) return next(null, undefined);
      const { value, values } = parseUntrustedJson(bytes, limits);
      request.bodyCost = { bytes: bytes.length, values };
      next(null, value);
    } catch (thrown) {
      next(thrown as Error);
    }
  });
}

/** Before anything of a request is looked at: whom it is for, and that it can be read in one way only. */
function refuse(request: FastifyRequest, site: Site): AppError | undefined {
  const { url, host, headers, is404 } = request;
  // RFC 9112 §3.2: which of two would count, somebody in between may have read differently.
  if (countHosts(request.raw.rawHeaders) > 1) {
    return new AppError('invalid_request', 'There is more than one Host header; send one.');
  }
  if (!url.startsWith('/') && !isOwnTarget(site, url)) {
    return new AppError('invalid_request', `This server is ${site.baseUrl}; ask it for a path.`);
  }
  // A supervisor asks by address, and learns nothing but that we live.
  if (!isOwnHost(site, host) && !url.startsWith('/health/')) {
    return new AppError('forbidden', `This server is ${site.baseUrl}; use that address.`);
  }
  const { 'content-encoding': contentEncoding, 'content-type': contentType } = headers;
  if (contentEncoding !== undefined && contentEncoding !== 'identity') {
    return new AppError(
      'unsupported_media_type',
      'Compressed bodies are not accepted; send the body without Content-Encoding.',
    );
  }
  // Somebody on the way who believes the label would read another text than we do (RFC 8259 §8.1).
  const charset = /;\s*charset\s*=\s*"?([^";\s]*)/i.exec(contentType ?? '')?.[1];
  if (charset !== undefined && !/^(utf-?8|us-ascii)$/i.test(charset)) {
    return new AppError('unsupported_media_type', 'Bodies are UTF-8; send them as such.');
  }
  // Before the body, which nobody would read, is parsed.
  return is404 ? notFound() : undefined;
}

function countHosts(rawHeaders: readonly string[]): number {
  let count = 0;
  for (let index = 0; index < rawHeaders.length; index += 2) {
    const name = rawHeaders[index] ?? '';
    if (name.length === 4 && name.toLowerCase() === 'host') count += 1;
  }
  return count;
}

/** The absolute form, which proxies are asked in (RFC 9112 §3.2.2); `*` is of the whole server. */
function isOwnTarget(site: Site, target: string): boolean {
  if (target === '*') return true;
  const url = URL.parse(target);
  return url !== null && /^https?:$/.test(url.protocol) && isOwnHost(site, url.host);
}
