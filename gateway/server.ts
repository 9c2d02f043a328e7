import { randomUUIDv7 } from 'node:crypto';
import type { ServerResponse } from 'node:http';
import type { Duplex } from 'node:stream';

import Fastify from 'fastify';
import type { FastifyInstance } from 'fastify';

import { clientIdCharactersMax } from '#contracts/vocabulary';
import { errorCodes } from '#errors';
import type { GatewayConfig } from './config.ts';
import { limitConnections } from './limits/limit-connections.ts';
import type { CallReport } from './records/call-report.ts';
import type { Deps } from './deps.ts';
import { serveDocs } from './docs/serve-docs.ts';
import { createHandlers } from './handlers.ts';
import { readTrustedProxies } from './read-settings.ts';
import { serveMcp } from './mcp/serve-mcp.ts';
import type { ProtocolServerFactory } from './mcp/endpoint.ts';
import { serveConnectPages } from './pages/connect.ts';
import { serveDashboard } from './pages/dashboard.ts';
import { registerRequestChecks } from './http/check-request.ts';
import { notFound, registerErrorHandler, sendNoAddress, toAppError } from './http/error-handler.ts';
import { serveEvents } from './http/serve-events.ts';
import { forwardOauth } from './http/forward-oauth.ts';
import { servePublicKeys } from './http/serve-public-keys.ts';
import { serveOpenapi } from './http/serve-openapi.ts';
import { registerRoutes } from './http/serve-routes.ts';
import { serveSignInPages } from './pages/sign-in.ts';

export interface ServerOptions {
  /** Whether every answer is parsed with the schema of its route; for tests. */
  readonly checkAnswers?: boolean;
  /** Called with each call when it has been answered, and with each execution when it has ended. */
  readonly onCall?: ((report: CallReport) => void) | undefined;
  readonly dashboardDist?: string;
  /**
   * Conformance suites replace the gateway's MCP server with this one, behind the same transport.
   */
  readonly createMcpServer?: ProtocolServerFactory;
}

/**
 * Sets every limit of the HTTP server explicitly, so that none depends on a default
 * (docs/reference/limits.md#requests).
 */
const httpServerLimits = {
  headersTimeout: 10_000,
  requestTimeout: 30_000,
  connectionsCheckingInterval: 2_000,
  /**
   * This is longer than the idle timeout of common load balancers, so that they close idle
   * connections first.
   */
  keepAliveTimeout: 72_000,
  maxRequestsPerSocket: 100_000,
  maxHeaderSize: 16_384,
  connections: 10_000,
  /**
   * An OAuth client id may be a percent-encoded URL, in which an encoded character takes three
   * characters.
   */
  pathParameterCharacters: 3 * clientIdCharactersMax,
};

/** Creates the HTTP server with all of its routes; it does not listen yet. */
export async function createServer(
  config: GatewayConfig,
  deps: Deps,
  { checkAnswers = false, dashboardDist, createMcpServer: mcpServer }: ServerOptions = {},
): Promise<FastifyInstance> {
  const trustedProxies = readTrustedProxies(config.TRUSTED_PROXIES);
  const app = Fastify({
    http: {
      headersTimeout: httpServerLimits.headersTimeout,
      connectionsCheckingInterval: httpServerLimits.connectionsCheckingInterval,
      maxHeaderSize: httpServerLimits.maxHeaderSize,
      // A check of the gateway refuses a missing Host itself, with a helpful message.
      requireHostHeader: false,
      insecureHTTPParser: false,
    },
    requestTimeout: httpServerLimits.requestTimeout,
    keepAliveTimeout: httpServerLimits.keepAliveTimeout,
    maxRequestsPerSocket: httpServerLimits.maxRequestsPerSocket,
    // Streams and waiting calls can be silent for a long time. Idle connections are ended by
    // keepAliveTimeout instead.
    connectionTimeout: 0,
    // A call may take as long as its timeout_ms, and every handler has its own deadline.
    handlerTimeout: 0,
    pluginTimeout: 10_000,
    bodyLimit: config.CAP_REQUEST_BODY_BYTES,
    forceCloseConnections: 'idle',
    // While the server stops, requests on open connections are still served, with Connection:
    // close.
    return503OnClosing: false,
    trustProxy: trustedProxies.length > 0 && trustedProxies,
    requestIdHeader: false,
    genReqId: () => randomUUIDv7(),
    logger: false,
    routerOptions: { maxParamLength: httpServerLimits.pathParameterCharacters },
    clientErrorHandler: answerClientError,
    // No hook has run at this point, so the standard headers are set here.
    frameworkErrors: (error, request, reply) => {
      deps.accessLog.watch(request, reply);
      sendNoAddress(toAppError(error), {
        request,
        reply: reply.headers({
          'x-request-id': request.id,
          'x-content-type-options': 'nosniff',
          'cache-control': 'no-store',
        }),
        logger: deps.logger,
      });
    },
  });
  app.server.maxConnections = httpServerLimits.connections;
  limitConnections(app.server, {
    perAddressMax: config.CONNECTIONS_PER_ADDRESS_MAX,
    trustedProxies,
  });

  registerErrorHandler(app, deps);
  registerRequestChecks(app, deps);
  app.decorate('redirectSchemes', config.OAUTH_REDIRECT_SCHEMES);
  app.setNotFoundHandler((request, reply) =>
    sendNoAddress(notFound(), { request, reply, logger: deps.logger }),
  );
  registerRoutes(app, deps, { handlers: createHandlers(deps), checkAnswers });
  await app.register(serveOpenapi);
  await app.register(serveDocs, deps);
  await app.register(servePublicKeys, deps);
  await app.register(serveEvents, deps);
  await app.register(serveMcp, { deps, createServer: mcpServer });
  await app.register(serveSignInPages, deps);
  await app.register(serveConnectPages, deps);
  await app.register(forwardOauth, { ...deps, oauthUrl: config.OAUTH_URL });
  await app.register(serveDashboard, { dist: dashboardDist });
  await app.ready();
  return app;
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
const malformedRequestAnswer = {
  status: `${errorCodes.invalid_request.httpStatus} Bad Request`,
  error: 'invalid_request',
  message: 'The request is not valid HTTP.',
};

/**
 * Answers requests that Node's parser rejects. These requests never reach Fastify, so the answer is
 * written to the socket.
 */
function answerClientError(error: Error & { code?: string }, socket: Duplex): void {
  const pendingResponse = (socket as Duplex & { _httpMessage?: ServerResponse | null })
    ._httpMessage;
  const isAnswering = pendingResponse?.headersSent === true;
  if (error.code === 'ECONNRESET' || !socket.writable || isAnswering) {
    socket.destroy();
    return;
  }
  const { status, ...rest } = clientErrors[error.code ?? ''] ?? malformedRequestAnswer;
  const body = JSON.stringify({ ...rest, request_id: randomUUIDv7() });
  socket.end(
    `HTTP/1.1 ${status}\r\nContent-Type: application/json; charset=utf-8\r\nContent-Length: ${Buffer.byteLength(body)}\r\nX-Content-Type-Options: nosniff\r\nConnection: close\r\n\r\n${body}`,
    // The connection is destroyed even if the client never reads the answer.
    () => socket.destroy(),
  );
}
