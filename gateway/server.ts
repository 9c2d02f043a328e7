import { randomUUIDv7 } from 'node:crypto';
import type { ServerResponse } from 'node:http';
import type { Duplex } from 'node:stream';

import Fastify from 'fastify';
import type { FastifyInstance } from 'fastify';

import { ConfigError } from '#config';
import { clientIdCharactersMax } from '#contracts/vocabulary';
import { errorCodes } from '#errors';
import type { GatewayConfig } from './config.ts';
import { limitConnections } from './connections.ts';
import type { Deps } from './deps.ts';
import { mcpRoute } from './mcp/route.ts';
import type { ProtocolServerFactory } from './mcp/serving.ts';
import { connectPages } from './plugins/connect.ts';
import { dashboardPages } from './plugins/dashboard.ts';
import { registerEdge } from './plugins/edge.ts';
import { notFound, registerErrorHandler, sendError, toAppError } from './plugins/error-handler.ts';
import { eventRoute } from './plugins/event-route.ts';
import { oauthForward } from './plugins/oauth-forward.ts';
import { publicKeys } from './plugins/public-keys.ts';
import { openapiRoute } from './plugins/openapi-route.ts';
import { registerRoutes } from './plugins/routes.ts';
import { signInPages } from './plugins/sign-in.ts';

export interface ServerOptions {
  /** Parse every answer with its route's schema; for tests. */
  readonly checkAnswers?: boolean;
  readonly dashboardDist?: string;
  /** Speaks MCP instead of our own tools, behind the same transport; for conformance suites. */
  readonly mcpServer?: ProtocolServerFactory;
}

/** Names every limit of the HTTP server, so that no default decides (docs/reference/limits.md#requests). */
const limits = {
  headersTimeout: 10_000,
  requestTimeout: 30_000,
  connectionsCheckingInterval: 2_000,
  /** Longer than the idle time of common load balancers, so that they close first. */
  keepAliveTimeout: 72_000,
  maxRequestsPerSocket: 100_000,
  maxHeaderSize: 16_384,
  connections: 10_000,
  /** An OAuth client's id may be a URL, percent-encoded: three characters for one. */
  pathParameterCharacters: 3 * clientIdCharactersMax,
};

/** The HTTP server with everything it answers, not yet listening. */
export async function createServer(
  config: GatewayConfig,
  deps: Deps,
  { checkAnswers = false, dashboardDist, mcpServer }: ServerOptions = {},
): Promise<FastifyInstance> {
  const app = Fastify({
    http: {
      headersTimeout: limits.headersTimeout,
      connectionsCheckingInterval: limits.connectionsCheckingInterval,
      maxHeaderSize: limits.maxHeaderSize,
      // Our own check answers a missing Host, with a sentence.
      requireHostHeader: false,
      insecureHTTPParser: false,
    },
    requestTimeout: limits.requestTimeout,
    keepAliveTimeout: limits.keepAliveTimeout,
    maxRequestsPerSocket: limits.maxRequestsPerSocket,
    // Streams and held calls are quiet for long; idle connections end by keepAliveTimeout.
    connectionTimeout: 0,
    // A call may take up to its timeout_ms; every handler has a deadline of its own.
    handlerTimeout: 0,
    pluginTimeout: 10_000,
    bodyLimit: config.CAP_REQUEST_BODY_BYTES,
    forceCloseConnections: 'idle',
    // While stopping, what still comes in on an open connection is served, with Connection: close.
    return503OnClosing: false,
    trustProxy: parseTrustedProxies(config.TRUSTED_PROXIES),
    requestIdHeader: false,
    genReqId: () => randomUUIDv7(),
    logger: false,
    routerOptions: { maxParamLength: limits.pathParameterCharacters },
    clientErrorHandler: answerClientError,
    // Before any hook ran, so the edge's headers are set here.
    frameworkErrors: (thrown, request, reply) =>
      sendError(toAppError(thrown), {
        request,
        reply: reply.headers({
          'x-request-id': request.id,
          'x-content-type-options': 'nosniff',
          'cache-control': 'no-store',
        }),
        logger: deps.logger,
      }),
  });
  app.server.maxConnections = limits.connections;
  limitConnections(app.server, {
    perAddressMax: config.CONNECTIONS_PER_ADDRESS_MAX,
    trustedProxies: parseTrustedProxies(config.TRUSTED_PROXIES) || [],
  });

  registerErrorHandler(app, deps);
  registerEdge(app, deps);
  app.setNotFoundHandler((request, reply) =>
    sendError(notFound(), { request, reply, logger: deps.logger }),
  );
  registerRoutes(app, deps, { checkAnswers });
  await app.register(openapiRoute);
  await app.register(publicKeys, deps);
  await app.register(eventRoute, deps);
  await app.register(mcpRoute, { deps, createServer: mcpServer });
  await app.register(signInPages, deps);
  await app.register(connectPages, deps);
  await app.register(oauthForward, { ...deps, oauthUrl: config.OAUTH_URL });
  await app.register(dashboardPages, { dist: dashboardDist });
  await app.ready();
  return app;
}

function parseTrustedProxies(given: string): string[] | false {
  const proxies = given
    .split(',')
    .map((each) => each.trim())
    .filter((each) => each !== '');
  return proxies.length === 0 ? false : proxies;
}

/** Fastify compiles the list when it is created, and throws what it does not understand. */
export function explainTrustedProxies(thrown: unknown, config: GatewayConfig): unknown {
  if (thrown instanceof TypeError && config.TRUSTED_PROXIES !== '') {
    return new ConfigError(
      `TRUSTED_PROXIES must be a comma list of addresses and CIDRs (it is ${JSON.stringify(config.TRUSTED_PROXIES)}).`,
    );
  }
  return thrown;
}

const clientErrors: Readonly<Record<string, { status: string; error: string; message: string }>> = {
  HPE_HEADER_OVERFLOW: {
    status: '431 Request Header Fields Too Large',
    error: 'too_large',
    message: 'The headers are larger than this server accepts; send less.',
  },
  ERR_HTTP_REQUEST_TIMEOUT: {
    status: '408 Request Timeout',
    error: 'invalid_request',
    message: 'The request did not arrive in time; send it again, faster.',
  },
};
const malformed = {
  status: `${errorCodes.invalid_request.httpStatus} Bad Request`,
  error: 'invalid_request',
  message: 'The request is not valid HTTP.',
};

/** What Node's parser refuses never becomes a request, so the answer is written on the socket itself. */
function answerClientError(error: Error & { code?: string }, socket: Duplex): void {
  const pending = (socket as Duplex & { _httpMessage?: ServerResponse | null })._httpMessage;
  const isAnswering = pending?.headersSent === true;
  if (error.code === 'ECONNRESET' || !socket.writable || isAnswering) {
    socket.destroy();
    return;
  }
  const { status, ...rest } = clientErrors[error.code ?? ''] ?? malformed;
  const body = JSON.stringify({ ...rest, request_id: randomUUIDv7() });
  socket.end(
    `HTTP/1.1 ${status}\r\nContent-Type: application/json; charset=utf-8\r\nContent-Length: ${Buffer.byteLength(body)}\r\nX-Content-Type-Options: nosniff\r\nConnection: close\r\n\r\n${body}`,
    // A client that never reads must not hold the socket.
    () => socket.destroy(),
  );
}
