import { randomUUIDv7 } from 'node:crypto';

import Fastify from 'fastify';
import type { FastifyError, FastifyInstance } from 'fastify';

import { ConfigError } from '#config';
import { AppError, errorCodes } from '#errors';
import { createMessagePage, showPage } from '#pages';
import { prepareStop } from '#process';
import type { AuthConfig } from '../config.ts';
import { registerConsentPages } from './consent.ts';
import type { OauthDeps } from './deps.ts';
import { registerFence } from './fence.ts';
import { registerMetadata } from './metadata.ts';
import { oauthPaths } from './paths.ts';
import { createProvider } from './provider.ts';
import { registerRegistrationRoute } from './register-client.ts';

const bodyBytesMax = 64 * 1024;

/** Paths that scripts of any page may request. None of them reads a cookie. */
const pathsOpenToBrowsers = /^(\/\.well-known\/|\/oauth\/(register|token|revoke)$)/;

export interface OauthListener extends AsyncDisposable {
  readonly url: string;
}

/** Starts the HTTP server of the authorization server. Only the gateway connects to it. */
export async function startOauthListener(
  deps: OauthDeps,
  config: Pick<AuthConfig, 'OAUTH_HOST' | 'OAUTH_PORT' | 'SHUTDOWN_PAUSE_SECONDS'>,
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
  registerFormParser(app);
  allowBrowsers(app);
  answerErrors(app, deps);
  registerMetadata(app, deps.baseUrl);
  registerRegistrationRoute(app, deps);
  registerFence(app, deps, createProvider(deps));
  app.register(registerConsentPages, deps);

  const stop = prepareStop(app.server, { pauseMs: config.SHUTDOWN_PAUSE_SECONDS * 1_000 });
  await listenOn(app, { host: config.OAUTH_HOST, port: config.OAUTH_PORT });
  const address = app.server.address();
  if (address === null || typeof address === 'string')
    throw new Error('the server does not listen');
  const name = address.family === 'IPv6' ? `[${address.address}]` : address.address;
  return {
    url: `http://${name}:${address.port}`,
    async [Symbol.asyncDispose]() {
      await stop();
      await app.close();
    },
  };
}

function registerFormParser(app: FastifyInstance): void {
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
    if (!pathsOpenToBrowsers.test(path)) return next();
    void reply.header('access-control-allow-origin', '*');
    if (request.method !== 'OPTIONS') return next();
    return reply
      .code(204)
      .headers({
        'access-control-allow-methods': path.startsWith('/oauth/') ? 'POST' : 'GET, HEAD',
        'access-control-allow-headers': 'authorization, content-type, mcp-protocol-version',
        'access-control-max-age': '3600',
      })
      .send();
  });
}

/**
 * Answers errors with the bodies of RFC 6749 §5.2 and RFC 7591 §3.2.2. If a person made the
 * request, answers with a page.
 */
function answerErrors(app: FastifyInstance, { logger }: OauthDeps): void {
  app.setNotFoundHandler((_request, reply) =>
    reply.code(404).send({ error: 'not_found', error_description: 'There is nothing here.' }),
  );
  app.setErrorHandler((thrown: Partial<FastifyError>, request, reply) => {
    if (thrown instanceof AppError && pathOf(request.url).startsWith(oauthPaths.authorize)) {
      // An authorization request comes from a browser, so a person reads the response.
      const status = errorCodes[thrown.code].httpStatus;
      const page = createMessagePage('Nothing was allowed', thrown.message);
      return showPage(reply.code(status), page);
    }
    const isClientError = (thrown.statusCode ?? 500) < 500;
    const error = AppError.from(thrown);
    const status = isClientError ? (thrown.statusCode ?? 400) : errorCodes[error.code].httpStatus;
    if (status >= 500)
      logger.error({ err: error.cause ?? error, url: pathOf(request.url) }, 'failed');
    if (isClientError) {
      const isRegistration = pathOf(request.url) === oauthPaths.register;
      return reply.code(status).send({
        error: isRegistration ? 'invalid_client_metadata' : 'invalid_request',
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

/**
 * The path without the query, because the query of an authorization request may contain secrets.
 */
const pathOf = (url: string) => url.split('?', 1)[0] ?? '';

async function listenOn(
  app: FastifyInstance,
  { host, port }: { host: string; port: number },
): Promise<void> {
  try {
    await app.listen({ host, port });
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'EADDRINUSE' || code === 'EACCES' || code === 'EADDRNOTAVAIL') {
      throw new ConfigError(
        `auth cannot listen on OAUTH_HOST ${host}, OAUTH_PORT ${port} (${code}).`,
      );
    }
    throw error;
  }
}
