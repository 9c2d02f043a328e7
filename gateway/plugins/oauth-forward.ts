import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { Pool } from 'undici';

import {
  authorizationServerMetadataPath,
  mcpPath,
  protectedResourceMetadataPath,
} from '#contracts/oauth';
import { AppError, errorCodes } from '#errors';
import type { Deps } from '../deps.ts';
import { parseUntrustedJson } from '../domain/json.ts';
import { readCookie } from '../domain/site.ts';
import type { Site } from '../domain/site.ts';
import { admit, countPublic, refuseOtherMethods } from './routes.ts';

interface ForwardOptions extends Pick<Deps, 'site' | 'rates' | 'logger' | 'limits'> {
  /** Where auth answers; undefined where it was not told. */
  readonly oauthUrl: string | undefined;
}

const bodyLimit = 16 * 1024;
const deadlineMs = 10_000;
const registerPath = '/oauth/register';

const forwarded = [
  { method: 'GET', url: '/oauth/authorize' },
  { method: 'GET', url: '/oauth/authorize/:id' },
  { method: 'GET', url: '/oauth/consent' },
  { method: 'POST', url: '/oauth/consent' },
  { method: 'POST', url: '/oauth/token' },
  { method: 'POST', url: '/oauth/revoke' },
  { method: 'GET', url: authorizationServerMetadataPath },
  { method: 'GET', url: protectedResourceMetadataPath },
  { method: 'GET', url: `${protectedResourceMetadataPath}${mcpPath}` },
];
/** Clients that run in a page ask these; none of them rides on a cookie. */
const openToBrowsers = [
  registerPath,
  '/oauth/token',
  '/oauth/revoke',
  authorizationServerMetadataPath,
  protectedResourceMetadataPath,
  `${protectedResourceMetadataPath}${mcpPath}`,
];

/** What of a request means something to the authorization server; everything else stays here. */
const requestHeaders = [
  'accept',
  'content-type',
  'origin',
  'sec-fetch-site',
  'access-control-request-method',
  'access-control-request-headers',
];
/** What of its answer goes back. It sets no cookie. */
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
 * Bounds OAuth requests and passes them on to the authorization server, which is part of auth. Host
 * and client address are what this gateway says, never what the request says
 * (docs/reference/identities.md#oauth-clients).
 */
export async function oauthForward(app: FastifyInstance, options: ForwardOptions): Promise<void> {
  const { site, rates, oauthUrl, logger, limits } = options;
  const pool = oauthUrl === undefined ? null : createPool(oauthUrl);
  if (pool !== null) app.addHook('onClose', () => pool.close());

  app.removeAllContentTypeParsers();
  app.addContentTypeParser('*', { parseAs: 'buffer' }, (_request, body, next) => next(null, body));

  const send = async (to: Pool, request: FastifyRequest) => {
    const { statusCode, headers, body } = await to.request({
      method: request.method,
      path: request.url,
      headers: headersOf(request, site()),
      body: request.body instanceof Buffer ? request.body : null,
      signal: AbortSignal.timeout(deadlineMs),
    });
    return { statusCode, headers, bytes: Buffer.from(await body.arrayBuffer()) };
  };
  const forward = async (request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> => {
    if (pool === null) throw away();
    const { statusCode, headers, bytes } = await send(pool, request).catch((thrown: unknown) => {
      logger.warn({ err: thrown, requestId: request.id }, 'auth did not answer an OAuth request');
      throw away(thrown);
    });
    for (const name of responseHeaders) {
      const value = headers[name];
      if (value !== undefined) void reply.header(name, value);
    }
    return reply.code(statusCode).send(bytes);
  };

  // Before a byte of what strangers send is read.
  const countRegistration = async (request: FastifyRequest, reply: FastifyReply) =>
    admit(reply, rates.ofRegistration(request.ip));
  const countRequest = countPublic(options);
  // The one JSON that strangers send to auth: within the limits, and no name twice, as everywhere.
  // The refusal has the form of RFC 7591 §3.2.2.
  const checkMetadata = async ({ body }: FastifyRequest, reply: FastifyReply) => {
    if (!(body instanceof Buffer)) return;
    try {
      parseUntrustedJson(body, limits);
    } catch (thrown) {
      if (!(thrown instanceof AppError)) throw thrown;
      return reply.code(errorCodes[thrown.code].httpStatus).send({
        error: 'invalid_client_metadata',
        error_description: thrown.message,
      });
    }
  };
  app.post(
    registerPath,
    { bodyLimit, onRequest: countRegistration, preHandler: checkMetadata },
    forward,
  );
  for (const { method, url } of forwarded) {
    app.route({
      method,
      url,
      bodyLimit,
      onRequest: countRequest,
      handler: forward,
      // A HEAD would let a client in as a GET does.
      exposeHeadRoute: false,
    });
  }
  const all = [...forwarded, { method: 'POST', url: registerPath }];
  for (const url of openToBrowsers) {
    app.options(url, { bodyLimit, onRequest: countRequest }, forward);
    all.push({ method: 'OPTIONS', url });
  }
  refuseOtherMethods(app, all, { head: false });
}

function createPool(oauthUrl: string): Pool {
  return new Pool(oauthUrl, {
    connections: 32,
    connect: { timeout: 2_000 },
    headersTimeout: deadlineMs,
    bodyTimeout: deadlineMs,
  });
}

function headersOf(request: FastifyRequest, { baseUrl, cookieName }: Site): Record<string, string> {
  const { host, protocol } = new URL(baseUrl);
  const session = readCookie(request.headers.cookie, cookieName);
  const kept = requestHeaders.flatMap((name) => {
    const value = request.headers[name];
    return typeof value === 'string' ? [[name, value]] : [];
  });
  return {
    ...Object.fromEntries(kept),
    host,
    'x-forwarded-for': request.ip,
    'x-forwarded-host': host,
    'x-forwarded-proto': protocol.slice(0, -1),
    'x-request-id': request.id,
    ...(session === undefined ? {} : { cookie: `${cookieName}=${session}` }),
  };
}

function away(cause?: unknown): AppError {
  return new AppError(
    'unavailable',
    'Signing in to applications is not available; try again shortly.',
    {
      details: { component: 'auth' },
      cause,
    },
  );
}
