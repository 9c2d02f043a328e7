import { SpanKind, SpanStatusCode } from '@opentelemetry/api';
import type { Attributes } from '@opentelemetry/api';
import type { FastifyReply, FastifyRequest } from 'fastify';

import { AppError } from '#errors';
import { continueTrace, startSpan } from '#telemetry';
import { statusOf } from './error-handler.ts';

interface RequestSpanOptions {
  readonly name: string;
  readonly attributes?: Attributes;
  /** The caller's trace context, if it was not sent in the header `traceparent`. */
  readonly traceparent?: unknown;
}

/**
 * Runs `work` inside a span of the HTTP request, with the attributes of OpenTelemetry's conventions
 * for HTTP servers. The trace of a caller is continued only if the caller is authenticated.
 * Otherwise anybody could have every request traced.
 */
export function inRequestSpan<T>(
  { request, reply }: { readonly request: FastifyRequest; readonly reply: FastifyReply },
  { name, attributes, traceparent = request.headers['traceparent'] }: RequestSpanOptions,
  work: () => Promise<T>,
): Promise<T> {
  const isAuthenticated = (request.admitted?.caller ?? null) !== null;
  const parent = continueTrace(isAuthenticated ? traceparent : undefined);
  return startSpan(name, { kind: SpanKind.SERVER, parent }, async (span) => {
    span.setAttributes({
      'http.request.method': request.method,
      'http.route': request.routeOptions.url,
      ...attributes,
    });
    try {
      const result = await work();
      span.setAttribute('http.response.status_code', reply.statusCode);
      return result;
    } catch (thrown) {
      const error = AppError.from(thrown);
      const status = statusOf(error);
      span.setAttribute('http.response.status_code', status);
      // By these conventions, a mistake of the client is not an error of the server.
      if (status >= 500) {
        span.setAttribute('error.type', error.code);
        span.setStatus({ code: SpanStatusCode.ERROR, message: error.code });
      }
      throw thrown;
    } finally {
      span.end();
    }
  });
}
