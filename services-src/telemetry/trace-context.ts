import { context, propagation } from '@opentelemetry/api';
import type { Context } from '@opentelemetry/api';

/** Longer than a `traceparent` of version 00 (55 characters), because later versions may add to it. */
const traceparentCharactersMax = 128;

/**
 * The active context with the trace that a `traceparent` names (W3C Trace Context). Anything that
 * is no valid `traceparent` leaves the active context as it is. `tracestate` and `baggage` are not
 * read: their content is free, so it could bring a secret into spans and to services.
 */
export function continueTrace(traceparent: unknown): Context {
  const isReadable =
    typeof traceparent === 'string' && traceparent.length <= traceparentCharactersMax;
  return isReadable ? propagation.extract(context.active(), { traceparent }) : context.active();
}
