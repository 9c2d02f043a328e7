import { randomUUIDv7 } from 'node:crypto';

import Fastify from 'fastify';
import type { FastifyError, FastifyInstance } from 'fastify';

import { ConfigError } from '#config';
import { AppError, errorCodes } from '#errors';
import { messagePage, pageHeaders } from '#pages';
import { consentPages } from './consent.ts';
import type { OauthDeps } from './deps.ts';
import { registerFence } from './fence.ts';
import { registerMetadata } from './metadata.ts';
import { paths } from './paths.ts';
import { createProvider } from './provider.ts';
import { registerRegistration } from './register.ts';

const bodyBytesMax = 64 * 1024;

/** What programs in browsers ask: nothing there rides on a cookie, so any page may. */
const openToBrowsers = /^(\/\.well-known\/|\/oauth\/(register|token|revoke)$)/;

export interface OauthListener extends AsyncDisposable {
  readonly url: string;
}

/** The authorization server's own HTTP, for the gateway alone: it is never exposed itself. */
export async function startOauthListener(
  deps: OauthDeps,
  { host, port }: { host: string; port: number },
): Promise<OauthListener> {
  const app = Fastify({
    bodyLimit: bodyBytesMax,
    requestTimeout: 15_000,
    keepAliveTimeout: 72_000,
    connectionTimeout: 0,
    handlerTimeout: 0,
    forceCloseConnections: 'idle',
    return503OnClosing: false,
    logger: false,
    genReqId: () => randomUUIDv7(),
    routerOptions: { maxParamLength: 200 },
  });
  readForms(app);
  allowBrowsers(app);
  answerErrors(app, deps);
  registerMetadata(app, deps.baseUrl);
  registerRegistration(app, deps);
  registerFence(app, deps, createProvider(deps));
  app.register(consentPages, deps);

  await listen(app, { host, port });
  const address = app.server.address();
  if (address === null || typeof address === 'string')
    throw new Error('the server does not listen');
  const name = address.family === 'IPv6' ? `[${address.address}]` : address.address;
  return {
    url: `http://${name}:${address.port}`,
    [Symbol.asyncDispose]: () => app.close(),
  };
}

function readForms(app: FastifyInstance): void {
  app.removeContentTypeParser('text/plain');
  app.addContentTypeParser(
    'application/x-www-form-urlencoded',
    { parseAs: 'string' },
    (_request, body, next) => next(null, new URLSearchParams(body as string)),
  );
}

function allowBrowsers(app: FastifyInstance): void {
  app.addHook('onRequest', (request, reply, next) => {
    void reply.header('cache-control', 'no-store');
    const path = request.url.split('?', 1)[0] ?? '';
    if (!openToBrowsers.test(path)) return next();
    void reply.header('access-control-allow-origin', '*');
    if (request.method !== 'OPTIONS') return next();
    return reply
      .code(204)
      .headers({
        'access-control-allow-methods': path.startsWith('/oauth/') ? 'POST' : 'GET',
        'access-control-allow-headers': 'authorization, content-type, mcp-protocol-version',
        'access-control-max-age': '3600',
      })
      .send();
  });
}

/** Programs get the bodies of their RFCs (RFC 6749 §5.2, RFC 7591 §3.2.2). */
function answerErrors(app: FastifyInstance, { logger }: OauthDeps): void {
  app.setNotFoundHandler((_request, reply) =>
    reply.code(404).send({ error: 'not_found', error_description: 'There is nothing here.' }),
  );
  app.setErrorHandler((thrown: Partial<FastifyError>, request, reply) => {
    if (thrown instanceof AppError && pathOf(request.url).startsWith(paths.authorize)) {
      // A person in front of a browser, whose user cannot act or whose gateway is not whole.
      const status = errorCodes[thrown.code].httpStatus;
      return reply
        .code(status)
        .headers(pageHeaders())
        .send(messagePage('Nothing was allowed', thrown.message));
    }
    const isTheirs = (thrown.statusCode ?? 500) < 500;
    const error = AppError.from(thrown);
    const status = isTheirs ? (thrown.statusCode ?? 400) : errorCodes[error.code].httpStatus;
    if (status >= 500)
      logger.error({ err: error.cause ?? error, url: pathOf(request.url) }, 'failed');
    if (isTheirs) {
      const isMetadata = pathOf(request.url) === paths.register;
      return reply.code(status).send({
        error: isMetadata ? 'invalid_client_metadata' : 'invalid_request',
        error_description: 'The request cannot be read: too large, malformed, or of another type.',
      });
    }
    if (status === 503) void reply.header('retry-after', '1');
    return reply.code(status).send({
      error: status === 503 ? 'temporarily_unavailable' : 'server_error',
      error_description: error.message,
    });
  });
}

/** Without what an authorization request carries. */
const pathOf = (url: string) => url.split('?', 1)[0] ?? '';

async function listen(
  app: FastifyInstance,
  { host, port }: { host: string; port: number },
): Promise<void> {
  try {
    await app.listen({ host, port });
  } catch (thrown) {
    const { code } = thrown as NodeJS.ErrnoException;
    if (code === 'EADDRINUSE' || code === 'EACCES' || code === 'EADDRNOTAVAIL') {
      throw new ConfigError(
        `auth cannot listen on OAUTH_HOST ${host}, OAUTH_PORT ${port} (${code}).`,
      );
    }
    throw thrown;
  }
}
