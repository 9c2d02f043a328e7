import { ROOT_CONTEXT, TraceFlags, context, propagation, trace } from '@opentelemetry/api';
import type { Context, Link } from '@opentelemetry/api';

/** Longer than a `traceparent` of version 00 (55 characters), because later versions may add to it. */
const traceparentCharactersMax = 128;

/**
 * A context in the trace that a `traceparent` names (W3C Trace Context). Anything that is no valid
 * `traceparent` gives a context without a trace. `tracestate` and `baggage` are not read: their
 * content is free, so it could bring a secret into spans and to services.
 */
export function continueTrace(traceparent: unknown): Context {
  const isReadable =
    typeof traceparent === 'string' && traceparent.length <= traceparentCharactersMax;
  return isReadable ? propagation.extract(ROOT_CONTEXT, { traceparent }) : ROOT_CONTEXT;
}

/**
 * The `traceparent` of the active span, for work that is done later because of it. Undefined unless
 * the span is sampled, because otherwise nothing would be traced later either.
 */
export function findTraceparent(): string | undefined {
  const flags = trace.getActiveSpan()?.spanContext().traceFlags ?? TraceFlags.NONE;
  if ((flags & TraceFlags.SAMPLED) === 0) return undefined;
  const carrier: { traceparent?: string } = {};
  propagation.inject(context.active(), carrier);
  return carrier.traceparent;
}

/** Links to the spans that these name, but not from the active span to itself. */
export function linksTo(...traceparents: readonly (string | null | undefined)[]): Link[] {
  const activeSpanId = trace.getActiveSpan()?.spanContext().spanId;
  return traceparents.flatMap((traceparent) => {
    const spanContext = trace.getSpanContext(continueTrace(traceparent));
    const isOtherSpan = spanContext !== undefined && spanContext.spanId !== activeSpanId;
    return isOtherSpan ? [{ context: spanContext }] : [];
  });
}
