import type { FastifyError, FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';

import { protectedResourceMetadataPath } from '#contracts/oauth';
import { AppError, errorCodes } from '#errors';
import type { ErrorCode, ErrorDetails } from '#errors';
import type { Logger } from '#telemetry';
import type { Site } from '../domain/site.ts';
import { afterRecording, askedOverRest } from '../refused.ts';
import type { Refusals } from '../refusals.ts';

/** Statuses of the edge itself that the table of codes has no row for. */
const statusOfEdge = { method_not_allowed: 405, not_acceptable: 406 } as const;

/** The only place where an error becomes an HTTP status and a body (docs/reference/errors.md#codes). */
export function registerErrorHandler(
  app: FastifyInstance,
  { logger, site, refusals }: { logger: Logger; site: () => Site; refusals: Refusals },
): void {
  app.setErrorHandler(async (thrown: unknown, request, reply) => {
    const asked = askedOverRest(request);
    const error = await afterRecording(refusals, request, {
      asked,
      error: toAppError(thrown, request.routeOptions.bodyLimit),
    });
    // Where a client finds out how to get a credential (RFC 9728 §5.1).
    const metadata = `${site().baseUrl}${protectedResourceMetadataPath}`;
    const challenge = [`resource_metadata="${metadata}"`];
    sendError(error, { request, reply, logger, challenge });
    return reply;
  });
}

export function sendError(
  error: AppError,
  {
    request,
    reply,
    logger,
    challenge = [],
  }: {
    request: FastifyRequest;
    reply: FastifyReply;
    logger: Logger;
    challenge?: readonly string[];
  },
): void {
  if (error.code === 'internal') {
    logger.error({ err: error.cause ?? error, requestId: request.id }, 'request failed');
  }
  void reply
    .code(statusOf(error))
    .headers(headersOf(error, request.headers.authorization !== undefined, challenge))
    .send(toEnvelope(error, request.id));
}

export function statusOf({ code, details: { edge } }: AppError): number {
  return typeof edge === 'string' && Object.hasOwn(statusOfEdge, edge)
    ? statusOfEdge[edge as keyof typeof statusOfEdge]
    : errorCodes[code].httpStatus;
}

/** `{error, message, request_id, …details}`. What components tell each other about a failure stays inside. */
export function toEnvelope(error: AppError, requestId: string): Record<string, unknown> {
  const {
    lost: _lost,
    busy: _busy,
    edge: _edge,
    rpc: _rpc,
    component,
    error: _error,
    message: _message,
    request_id: _requestId,
    ...details
  } = error.details;
  return {
    error: error.code,
    message: error.message,
    request_id: requestId,
    ...(error.code === 'unavailable' && component !== undefined ? { component } : {}),
    ...details,
  };
}

export function headersOf(
  error: AppError,
  hadAuthorization: boolean,
  /** Further parameters of the challenge (RFC 6750 §3). */
  challenge: readonly string[] = [],
): Record<string, string> {
  const headers: Record<string, string> = {};
  const retryAfter = error.details['retry_after'];
  if (typeof retryAfter === 'number') headers['retry-after'] = String(retryAfter);
  else if (error.code === 'unavailable') headers['retry-after'] = '1';
  if (error.code === 'unauthenticated') {
    // RFC 6750 §3.1: no error code when the request had no authentication information at all.
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

/** What Fastify itself refuses, in our codes. */
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

export function toAppError(thrown: unknown, bodyBytesMax?: number): AppError {
  if (thrown instanceof AppError) return thrown;
  const code = (thrown as Partial<FastifyError> | null)?.code;
  if (code === 'FST_ERR_CTP_BODY_TOO_LARGE' && bodyBytesMax !== undefined) {
    return new AppError(
      'too_large',
      `The body is larger than the ${bodyBytesMax.toLocaleString('en')} bytes that this address accepts; send less.`,
      { details: { limit: 'body_bytes', max: bodyBytesMax }, cause: thrown },
    );
  }
  const foreseen = code === undefined ? undefined : frameworkErrors[code];
  if (foreseen !== undefined)
    return new AppError(foreseen.code, foreseen.message, { cause: thrown });
  const statusCode = (thrown as Partial<FastifyError> | null)?.statusCode ?? 500;
  // The file server's refusals (a path outside, a hidden file) are no different from a missing file.
  if (statusCode === 403 || statusCode === 404) return notFound(thrown);
  if (statusCode >= 400 && statusCode < 500) {
    return new AppError('invalid_request', 'The request is not valid; see the documentation.', {
      cause: thrown,
    });
  }
  return AppError.from(thrown);
}

export function notFound(cause?: unknown): AppError {
  return new AppError(
    'not_found',
    'There is nothing at this address; the addresses are listed in /v1/openapi.json.',
    { cause },
  );
}

/** 405: the code says what is wrong with the request, the status and `Allow` say it to HTTP. */
export function methodNotAllowed(allowed: readonly string[]): AppError {
  const details: ErrorDetails = { edge: 'method_not_allowed', allow: [...allowed] };
  return new AppError('invalid_request', `This address accepts ${allowed.join(', ')} only.`, {
    details,
  });
}
