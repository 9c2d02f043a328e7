import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';

import { originAt } from '#contracts/oauth';
import { AppError } from '#errors';
import { runWithRequestId } from '#telemetry';
import type { Site } from '../authentication/domain/site.ts';
import { isOwnHost } from '../authentication/domain/site.ts';
import type { JsonLimits } from '../input/domain/json-size.ts';
import { parseUntrustedJson } from '../input/domain/json.ts';
import type { BodyCost } from '../limits/rate-limits.ts';
import type { AccessLog } from '../records/access-log.ts';
import { explainMisplacedIssuer, notFound } from './error-handler.ts';
import { isPageLoad } from './no-page.ts';

declare module 'fastify' {
  interface FastifyRequest {
    /** The cost of the body, in addition to the cost of the request itself; null without a body. */
    bodyCost: BodyCost | null;
  }
}

interface RequestCheckOptions {
  readonly site: () => Site;
  readonly limits: JsonLimits;
  readonly accessLog: AccessLog;
}

/** Registers the checks, headers and JSON parser that apply to every request. */
export function registerRequestChecks(
  app: FastifyInstance,
  { site, limits, accessLog }: RequestCheckOptions,
): void {
  app.decorateRequest('bodyCost', null);
  app.decorateRequest('outcome', null);
  // The body is parsed outside of the context that the first hook enters, so a later hook enters it
  // again.
  for (const hook of ['onRequest', 'preValidation'] as const) {
    app.addHook(hook, (request: FastifyRequest, _reply: FastifyReply, next: () => void) =>
      runWithRequestId(request.id, next),
    );
  }
  app.addHook('onRequest', (request, reply, next) => {
    accessLog.watch(request, reply);
    void reply.headers({
      'x-request-id': request.id,
      'x-content-type-options': 'nosniff',
      'referrer-policy': 'no-referrer',
      // Answers show what people and agents do, so neither browsers nor proxies may cache them.
      'cache-control': 'no-store',
    });
    if (site().isSecure) void reply.header('strict-transport-security', 'max-age=31536000');
    const problem = findRequestProblem(request, site());
    const pageUrl = findPageUrl(request, site());
    if (problem === undefined && pageUrl !== undefined) return void reply.redirect(pageUrl, 307);
    next(problem);
  });

  app.removeAllContentTypeParsers();
  app.addContentTypeParser('application/json', { parseAs: 'buffer' }, (request, body, next) => {
    try {
      const bytes = body as Buffer;
      if (bytes.length === 0) return next(null, undefined);
      const { value, values } = parseUntrustedJson(bytes, limits);
      request.bodyCost = { bytes: bytes.length, values };
      next(null, value);
    } catch (error) {
      next(error as Error);
    }
  });
}

/**
 * Finds a wrong host, and forms of a request that a proxy could interpret differently. Runs before
 * any other part of the request is processed.
 */
function findRequestProblem(request: FastifyRequest, site: Site): AppError | undefined {
  const { url, host, headers, is404 } = request;
  // RFC 9112 §3.2: if there are two Host headers, a proxy may have used the other one.
  if (countHosts(request.raw.rawHeaders) > 1) {
    return new AppError('invalid_request', 'There is more than one Host header; send one.');
  }
  if (!url.startsWith('/') && !isOwnTarget(site, url)) {
    return new AppError('invalid_request', `This server is ${site.baseUrl}; ask it for a path.`);
  }
  // Process supervisors check health by IP address. Any Host is accepted there, because a health
  // answer reveals nothing else.
  if (!isOwnHost(site, host) && !url.startsWith('/health/')) {
    const namedHost = /^[\w.:[\]-]{1,100}$/.test(host) ? host : 'another one';
    return new AppError(
      'forbidden',
      `This server is ${site.baseUrl}, and the request named the host ${namedHost}; use that address. A proxy in between passes on the Host, or sends X-Forwarded-Host and is named in TRUSTED_PROXIES.`,
    );
  }
  const { 'content-encoding': contentEncoding, 'content-type': contentType } = headers;
  if (contentEncoding !== undefined && contentEncoding !== 'identity') {
    return new AppError(
      'unsupported_media_type',
      'Compressed bodies are not accepted; send the body without Content-Encoding.',
    );
  }
  // A proxy that honours this charset would read a different text than the gateway, which always
  // reads UTF-8 (RFC 8259 §8.1).
  const charset = /;\s*charset\s*=\s*"?([^";\s]*)/i.exec(contentType ?? '')?.[1];
  if (charset !== undefined && !/^(utf-?8|us-ascii)$/i.test(charset)) {
    return new AppError('unsupported_media_type', 'Bodies are UTF-8; send them as such.');
  }
  // The 404 comes before the body is parsed, so that nobody can have a body parsed at an unknown
  // address.
  return is404 ? (explainMisplacedIssuer(url, site.baseUrl) ?? notFound()) : undefined;
}

/**
 * A person on this machine may open a page under another name of the machine. Returns the page's
 * URL under the base URL, because the session and the forms of a page belong to one origin.
 */
function findPageUrl(request: FastifyRequest, { baseUrl }: Site): string | undefined {
  const { url, host } = request;
  const isOtherOrigin = url.startsWith('/') && originAt(baseUrl, host) !== baseUrl;
  return isOtherOrigin && isPageLoad(request) ? `${baseUrl}${url}` : undefined;
}

function countHosts(rawHeaders: readonly string[]): number {
  let count = 0;
  for (let index = 0; index < rawHeaders.length; index += 2) {
    const name = rawHeaders[index] ?? '';
    if (name.length === 4 && name.toLowerCase() === 'host') count += 1;
  }
  return count;
}

/**
 * Whether an absolute request target (clients send such targets to proxies) names this server (RFC
 * 9112 §3.2.2). `*` means the server as a whole.
 */
function isOwnTarget(site: Site, target: string): boolean {
  if (target === '*') return true;
  const url = URL.parse(target);
  return url !== null && /^https?:$/.test(url.protocol) && isOwnHost(site, url.host);
}
