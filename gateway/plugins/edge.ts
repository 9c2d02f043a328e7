import type { FastifyInstance, FastifyRequest } from 'fastify';

import { AppError } from '#errors';
import type { Site } from '../domain/site.ts';
import { isOwnHost } from '../domain/site.ts';
import { parseUntrustedJson } from '../domain/json.ts';

interface EdgeOptions {
  readonly site: () => Site;
  readonly stopping: AbortSignal;
}

/** What holds for every request, whatever it asks for: right host, plain JSON, no sniffing. */
export function registerEdge(app: FastifyInstance, { site, stopping }: EdgeOptions): void {
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
  app.addContentTypeParser('application/json', { parseAs: 'buffer' }, (_request, body, next) => {
    try {
      const bytes = body as Buffer;
      next(null, bytes.length === 0 ? undefined : parseUntrustedJson(bytes));
    } catch (thrown) {
      next(thrown as Error);
    }
  });
}

function refuse({ url, host, headers }: FastifyRequest, site: Site): AppError | undefined {
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
  return undefined;
}
