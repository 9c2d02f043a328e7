import { trace } from '@opentelemetry/api';
import type { FastifyRequest } from 'fastify';

import type { CallContext } from '#contracts/vocabulary';

const addressCharactersMax = 64;

/** What the records of a request say of where it came from. */
export function contextOf(request: FastifyRequest): CallContext {
  return {
    requestId: request.id,
    traceId: trace.getActiveSpan()?.spanContext().traceId ?? null,
    ip: request.ip.slice(0, addressCharactersMax),
  };
}
