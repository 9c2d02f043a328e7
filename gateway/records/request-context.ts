import { trace } from '@opentelemetry/api';
import type { FastifyRequest } from 'fastify';

import type { CallContext } from '#contracts/vocabulary';

const addressCharactersMax = 64;

/** Returns the request id, trace id and address that audit records of this request contain. */
export function contextOf(request: FastifyRequest): CallContext {
  return {
    requestId: request.id,
    traceId: trace.getActiveSpan()?.spanContext().traceId ?? null,
    ip: request.ip.slice(0, addressCharactersMax),
  };
}
