import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { Pool } from 'undici';

import {
  authorizationServerMetadataPath,
  mcpPath,
  originAt,
  protectedResourceMetadataPath,
} from '#contracts/oauth';
import { findChosenTheme, themeCookieName } from '#contracts/http/theme';
import { AppError, errorCodes } from '#errors';
import type { Deps } from '../deps.ts';
import { parseUntrustedJson } from '../input/domain/json.ts';
import { readCookie } from '../authentication/domain/site.ts';
import type { Site } from '../authentication/domain/site.ts';
import { applyRateLimit, countPublicRequest } from './admit-request.ts';
import { refuseOtherMethods } from './refuse-other-methods.ts';

interface ForwardOptions extends Pick<Deps, 'site' | 'rates' | 'logger' | 'limits'> {
  /** The address of auth's OAuth listener; undefined if it is not configured. */
  readonly oauthUrl: string | undefined;
}

const bodyBytesMax = 16 * 1024;
const authAnswerMsMax = 10_000;
const registerPath = '/oauth/register';

const forwardedRoutes = [
  { method: 'GET', url: '/oauth/authorize' },
  { method: 'GET', url: '/oauth/authorize/:id' },
  { method: 'GET', url: '/oauth/consent' },
  { method: 'POST', url: '/oauth/consent' },
  { method: 'POST', url: '/oauth/token' },
  { method: 'POST', url: '/oauth/revoke' },
];
/**
 * Documents that anybody may read. They depend on no cookie and reading them has no effects, so
 * HEAD is served, too.
 */
const metadataUrls = [
  authorizationServerMetadataPath,
  protectedResourceMetadataPath,
  `${protectedResourceMetadataPath}${mcpPath}`,
];
const metadataRoutes = metadataUrls.flatMap((url) =>
  ['GET', 'HEAD'].map((method) => ({ method, url })),
);
/** Addresses at which clients authenticate (RFC 6749 §2.3.1). */
const clientUrls = ['/oauth/token', '/oauth/revoke'];
/**
 * Routes to which clients that run in a page of another origin send requests. None of these routes
 * uses a cookie.
 */
const routesOpenToBrowsers = [registerPath, ...clientUrls, ...metadataUrls];

/** The request headers that the authorization server needs; all others are dropped. */
const requestHeaders = [
  'accept',
  'content-type',
  'origin',
  'sec-fetch-site',
  'access-control-request-method',
  'access-control-request-headers',
];
/** The response headers that are passed back. The authorization server sets no cookies. */
const responseHeaders = [
  'access-control-allow-headers',
  'access-control-allow-methods',
  'access-control-allow-origin',
  'access-control-max-age',
  'cache-control',
  'content-security-policy',
  'content-type',
  'location',
  'pragma',
  'referrer-policy',
  'retry-after',
  'www-authenticate',
];

/**
 * Forwards OAuth requests to the authorization server, which is part of auth, with limits on size
 * and rate. The gateway sets the host and the client address itself and does not copy them from the
 * request. One exception: a client on the same machine may have reached a gateway on loopback under
 * another name of this machine; then that name is the forwarded host
 * (docs/reference/identities.md#oauth-clients).
 */
export async function forwardOauth(app: FastifyInstance, options: ForwardOptions): Promise<void> {
  const { site, rates, oauthUrl, logger, limits } = options;
  const pool = oauthUrl === undefined ? null : createPool(oauthUrl);
  if (pool !== null) app.addHook('onClose', () => pool.close());

  app.removeAllContentTypeParsers();
  app.addContentTypeParser('*', { parseAs: 'buffer' }, (_request, body, next) => next(null, body));

  const sendToAuth = async (pool: Pool, request: FastifyRequest) => {
    const { statusCode, headers, body } = await pool.request({
      // HEAD is forwarded as GET. The body of the answer is dropped when it is sent, but its length
      // is kept.
      method: request.method === 'HEAD' ? 'GET' : request.method,
      path: request.url,
      headers: headersOf(request, site()),
      body: request.body instanceof Buffer ? request.body : null,
      signal: AbortSignal.timeout(authAnswerMsMax),
    });
    return { statusCode, headers, bytes: Buffer.from(await body.arrayBuffer()) };
  };
  const forwardRequest = async (request: FastifyRequest, reply: FastifyReply) => {
    if (pool === null) throw authUnavailableError();
    const { statusCode, headers, bytes } = await sendToAuth(pool, request).catch(
      (error: unknown) => {
        logger.warn({ err: error, requestId: request.id }, 'auth did not answer an OAuth request');
        throw authUnavailableError(error);
      },
    );
    for (const name of responseHeaders) {
      const value = headers[name];
      if (value !== undefined) void reply.header(name, value);
    }
    return reply.code(statusCode).send(bytes);
  };

  // Runs before the body is read.
  const countRegistration = async (request: FastifyRequest, reply: FastifyReply) =>
    applyRateLimit(reply, rates.countRegistration(request.ip));
  const countRequest = countPublicRequest(options);
  // Checks the metadata of a client registration, which is the only JSON that auth receives from
  // clients without a credential. The refusal has the form of RFC 7591 §3.2.2.
  const checkMetadata = async ({ body }: FastifyRequest, reply: FastifyReply) => {
    if (!(body instanceof Buffer)) return;
    try {
      parseUntrustedJson(body, limits);
    } catch (error) {
      if (!(error instanceof AppError)) throw error;
      return reply.code(errorCodes[error.code].httpStatus).send({
        error: 'invalid_client_metadata',
        error_description: error.message,
      });
    }
  };
  app.post(
    registerPath,
    { bodyLimit: bodyBytesMax, onRequest: countRegistration, preHandler: checkMetadata },
    forwardRequest,
  );
  const sharedOptions = {
    bodyLimit: bodyBytesMax,
    onRequest: countRequest,
    handler: forwardRequest,
  };
  for (const route of [...forwardedRoutes, ...metadataRoutes]) {
    // Without this option, Fastify would serve HEAD at each GET route, with the same effects.
    app.route({ ...route, ...sharedOptions, exposeHeadRoute: false });
  }
  const servedRoutes = [
    ...forwardedRoutes,
    ...metadataRoutes,
    { method: 'POST', url: registerPath },
  ];
  for (const url of routesOpenToBrowsers) {
    app.options(url, { bodyLimit: bodyBytesMax, onRequest: countRequest }, forwardRequest);
    servedRoutes.push({ method: 'OPTIONS', url });
  }
  refuseOtherMethods(app, servedRoutes, { head: false });
}

function createPool(oauthUrl: string): Pool {
  return new Pool(oauthUrl, {
    connections: 32,
    connect: { timeout: 2_000 },
    headersTimeout: authAnswerMsMax,
    bodyTimeout: authAnswerMsMax,
  });
}

function headersOf(request: FastifyRequest, { baseUrl, cookieName }: Site): Record<string, string> {
  const { host, protocol } = new URL(baseUrl);
  const session = readCookie(request.headers.cookie, cookieName);
  const theme = findChosenTheme(request.headers.cookie);
  const cookies = [
    ...(session === undefined ? [] : [`${cookieName}=${session}`]),
    ...(theme === null ? [] : [`${themeCookieName}=${theme}`]),
  ];
  const forwardedHeaders = requestHeaders.flatMap((name) => {
    const value = request.headers[name];
    return typeof value === 'string' ? [[name, value]] : [];
  });
  const { authorization } = request.headers;
  const isClientRoute = clientUrls.includes(request.routeOptions.url ?? '');
  const hasClientCredentials =
    isClientRoute && authorization !== undefined && /^Basic(?: |$)/i.test(authorization);
  return {
    ...Object.fromEntries(forwardedHeaders),
    ...(hasClientCredentials ? { authorization } : {}),
    host,
    'x-forwarded-for': request.ip,
    'x-forwarded-host': new URL(originAt(baseUrl, request.host)).host,
    'x-forwarded-proto': protocol.slice(0, -1),
    'x-request-id': request.id,
    ...(cookies.length === 0 ? {} : { cookie: cookies.join('; ') }),
  };
}

function authUnavailableError(cause?: unknown): AppError {
  return new AppError(
    'unavailable',
    'Signing in to applications is not available; try again shortly.',
    {
      details: { component: 'auth' },
      cause,
    },
  );
}
