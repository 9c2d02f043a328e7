import {
  INVALID_SPAN_CONTEXT,
  ProxyTracerProvider,
  SpanStatusCode,
  context,
  trace,
} from '@opentelemetry/api';
import type { Attributes, Context, Span, SpanOptions } from '@opentelemetry/api';

import { AppError } from '#errors';

const tracer = trace.getTracer('agent-action-gateway');
/** Who provides tracers for as long as telemetry is off. */
const nobody = new ProxyTracerProvider().getDelegate();
const noSpan = trace.wrapSpanContext(INVALID_SPAN_CONTEXT);

/**
 * Runs `work` inside a span below `parent`, which `work` ends. With telemetry off nothing is begun:
 * even the API's own empty spans cost a call, which passes a dozen of them, some of its time.
 */
export function startSpan<T>(
  name: string,
  { parent, ...options }: SpanOptions & { readonly parent?: Context },
  work: (span: Span) => Promise<T>,
): Promise<T> {
  const provider = trace.getTracerProvider();
  if (provider instanceof ProxyTracerProvider && provider.getDelegate() === nobody) {
    return work(noSpan);
  }
  return tracer.startActiveSpan(name, options, parent ?? context.active(), work);
}

/** Runs `work` inside a span, and marks the span failed with the error's code when it throws. */
export function inSpan<T>(
  name: string,
  attributes: Attributes,
  work: () => Promise<T>,
): Promise<T> {
  return startSpan(name, { attributes }, async (span) => {
    try {
      return await work();
    } catch (thrown) {
      span.setStatus({ code: SpanStatusCode.ERROR, message: AppError.from(thrown).code });
      throw thrown;
    } finally {
      span.end();
    }
  });
}
