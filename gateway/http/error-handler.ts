import type { FastifyError, FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';

import {
  authorizationServerMetadataPath,
  originAt,
  protectedResourceMetadataPath,
} from '#contracts/oauth';
import { AppError, errorCodes } from '#errors';
import { showPage } from '#pages';
import type { ErrorCode, ErrorDetails } from '#errors';
import type { Logger } from '#telemetry';
import type { NextRequest } from '#contracts/http/next';
import type { Site } from '../authentication/domain/site.ts';
import { nextAfterError } from '../next/domain/next-step.ts';
import type { NextToolCall } from '../next/domain/next-step.ts';
import { recordRequestRefusal, describeRestRequest } from '../records/record-refusal.ts';
import type { Refusals } from '../records/refusals.ts';
import { createNoPage, isPageLoad } from './no-page.ts';

/** HTTP statuses that no error code stands for. */
const statusOfHttpError = { method_not_allowed: 405, not_acceptable: 406 } as const;

/**
 * Registers the only place where an error becomes an HTTP status and a body
 * (docs/reference/errors.md#codes).
 */
export function registerErrorHandler(
  app: FastifyInstance,
  { logger, site, refusals }: { logger: Logger; site: () => Site; refusals: Refusals },
): void {
  app.setErrorHandler(async (thrown: unknown, request, reply) => {
    const action = describeRestRequest(request);
    const error = await recordRequestRefusal(refusals, request, {
      action,
      error: toAppError(thrown, request.routeOptions.bodyLimit),
    });
    // This tells clients where to find out how to get a credential (RFC 9728 §5.1).
    const metadata = `${originAt(site().baseUrl, request.host)}${protectedResourceMetadataPath}`;
    const challenge = [`resource_metadata="${metadata}"`];
    const sendAnswer = request.is404 && error.code === 'not_found' ? sendNoAddress : sendError;
    sendAnswer(error, { request, reply, logger, challenge });
    return reply;
  });
}

interface ErrorAnswer {
  readonly request: FastifyRequest;
  readonly reply: FastifyReply;
  readonly logger: Logger;
  readonly challenge?: readonly string[];
}

/**
 * Answers a request to an address that does not exist: to a person with a page, to a program with
 * the error.
 */
export function sendNoAddress(error: AppError, answer: ErrorAnswer): void {
  const { request, reply } = answer;
  if (!isPageLoad(request)) return sendError(error, answer);
  request.outcome = error.code;
  showPage(reply.code(statusOf(error)), createNoPage(request.url));
}

export function sendError(
  error: AppError,
  { request, reply, logger, challenge = [] }: ErrorAnswer,
): void {
  request.outcome = error.code;
  if (error.code === 'internal') {
    logger.error({ err: error.cause ?? error, requestId: request.id }, 'request failed');
  }
  void reply
    .code(statusOf(error))
    .headers(headersOf(error, request.headers.authorization !== undefined, challenge))
    .send(toEnvelope(error, request.id, nextAfterError(error)?.request));
}

export function statusOf({ code, details: { edge } }: AppError): number {
  return typeof edge === 'string' && Object.hasOwn(statusOfHttpError, edge)
    ? statusOfHttpError[edge as keyof typeof statusOfHttpError]
    : errorCodes[code].httpStatus;
}

/**
 * Builds the body of an error, `{error, message, request_id, …details, next?}`. Details that only
 * components use are left out.
 */
export function toEnvelope(
  error: AppError,
  requestId: string,
  next?: NextRequest | NextToolCall | null,
): Record<string, unknown> {
  const {
    lost: _lost,
    busy: _busy,
    edge: _edge,
    rpc: _rpc,
    component,
    error: _error,
    message: _message,
    request_id: _requestId,
    next: _next,
    stored: _stored,
    ...details
  } = error.details;
  return {
    error: error.code,
    message: error.message,
    request_id: requestId,
    ...(error.code === 'unavailable' && component !== undefined ? { component } : {}),
    ...details,
    ...(next === undefined || next === null ? {} : { next }),
  };
}

export function headersOf(
  error: AppError,
  hadAuthorization: boolean,
  /** Additional parameters of the challenge (RFC 6750 §3). */
  challenge: readonly string[] = [],
): Record<string, string> {
  const headers: Record<string, string> = {};
  const retryAfter = error.details['retry_after'];
  if (typeof retryAfter === 'number') headers['retry-after'] = String(retryAfter);
  else if (error.code === 'unavailable') headers['retry-after'] = '1';
  if (error.code === 'unauthenticated') {
    // RFC 6750 §3.1: a request without credentials gets no error code.
    headers['www-authenticate'] = challengeOf([
      ...challenge,
      ...(hadAuthorization
        ? ['error="invalid_token"', `error_description="${quotable(error.message)}"`]
        : []),
    ]);
  }
  if (error.code === 'insufficient_scope') {
    const scope = error.details['scope'];
    headers['www-authenticate'] = challengeOf([
      'error="insufficient_scope"',
      `scope="${typeof scope === 'string' ? scope : ''}"`,
      `error_description="${quotable(error.message)}"`,
      ...challenge,
    ]);
  }
  return headers;
}

function challengeOf(parameters: readonly string[]): string {
  return parameters.length === 0 ? 'Bearer' : `Bearer ${parameters.join(', ')}`;
}

function quotable(text: string): string {
  return text.replaceAll(/[^\x20-\x7e]/g, '?').replaceAll(/["\\]/g, "'");
}

interface Foreseen {
  readonly code: ErrorCode;
  readonly message: string;
}

/** The gateway's error codes and messages for Fastify's errors. */
const frameworkErrors: Readonly<Record<string, Foreseen>> = {
  FST_ERR_CTP_BODY_TOO_LARGE: {
    code: 'too_large',
    message: 'The body is larger than this server accepts; send less.',
  },
  FST_ERR_CTP_INVALID_MEDIA_TYPE: {
    code: 'unsupported_media_type',
    message: 'The body must be JSON; send "Content-Type: application/json".',
  },
  FST_ERR_CTP_INVALID_CONTENT_LENGTH: {
    code: 'invalid_request',
    message: 'The body is not as long as its Content-Length says; send it again.',
  },
  FST_ERR_BAD_URL: {
    code: 'invalid_request',
    message: 'The URL is not valid; percent-encode what is not plain ASCII.',
  },
};

export function toAppError(error: unknown, bodyBytesMax?: number): AppError {
  if (error instanceof AppError) return error;
  const code = (error as Partial<FastifyError> | null)?.code;
  if (code === 'FST_ERR_CTP_BODY_TOO_LARGE' && bodyBytesMax !== undefined) {
    return new AppError(
      'too_large',
      `The body is larger than the ${bodyBytesMax.toLocaleString('en')} bytes that this address accepts; send less.`,
      { details: { limit: 'body_bytes', max: bodyBytesMax }, cause: error },
    );
  }
  const foreseen = code === undefined ? undefined : frameworkErrors[code];
  if (foreseen !== undefined)
    return new AppError(foreseen.code, foreseen.message, { cause: error });
  const statusCode = (error as Partial<FastifyError> | null)?.statusCode ?? 500;
  // The file server refuses hidden files and paths outside its folder. For the client, these files
  // do not exist.
  if (statusCode === 403 || statusCode === 404) return notFound(error);
  if (statusCode >= 400 && statusCode < 500) {
    return new AppError('invalid_request', 'The request is not valid; see the documentation.', {
      cause: error,
    });
  }
  return AppError.from(error);
}

export function notFound(cause?: unknown): AppError {
  return new AppError(
    'not_found',
    'There is nothing at this address; the addresses are listed in /v1/openapi.json.',
    { cause },
  );
}

/**
 * Builds the 405 error. Its code is `invalid_request`; the status and `Allow` tell HTTP clients
 * more.
 */
export function methodNotAllowed(allowed: readonly string[]): AppError {
  const details: ErrorDetails = { edge: 'method_not_allowed', allow: [...allowed] };
  return new AppError('invalid_request', `This address accepts ${allowed.join(', ')} only.`, {
    details,
  });
}

/**
 * Clients look for an issuer's metadata at an address that contains the issuer's path. Returns the
 * error for such an address if its issuer is not this one but has a path, or a slash too many or
 * too few (RFC 8414 §3.1, OpenID Connect Discovery §4). Returns undefined for any other address.
 */
export function explainMisplacedIssuer(url: string, baseUrl: string): AppError | undefined {
  const [path = ''] = url.split('?', 1);
  if (!/\/\.well-known\/(oauth-authorization-server|openid-configuration)(\/|$)/.test(path))
    return undefined;
  return new AppError(
    'not_found',
    `The issuer here is ${baseUrl}, without a path and without a slash at its end. Its metadata is at ${baseUrl}${authorizationServerMetadataPath}.`,
    { details: { issuer: baseUrl } },
  );
}
