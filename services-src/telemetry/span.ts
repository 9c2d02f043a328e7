import {
  INVALID_SPAN_CONTEXT,
  ProxyTracerProvider,
  SpanStatusCode,
  context,
  trace,
} from '@opentelemetry/api';
import type { Attributes, Context, Span, SpanOptions, Tracer } from '@opentelemetry/api';

import { AppError } from '#errors';
import { recordDuration, startDuration } from './metrics.ts';

/** The tracer provider that the API returns while telemetry is off. */
const noopProvider = new ProxyTracerProvider().getDelegate();
const noopSpan = trace.wrapSpanContext(INVALID_SPAN_CONTEXT);

/**
 * Runs `work` inside a child span of `parent`; `work` ends the span. While telemetry is off, no
 * span is started: a call passes a dozen spans, and even the API's no-op spans take measurable
 * time.
 */
export function startSpan<T>(
  name: string,
  { parent, ...options }: SpanOptions & { readonly parent?: Context },
  work: (span: Span) => Promise<T>,
): Promise<T> {
  const tracer = findTracer();
  if (tracer === undefined) return work(noopSpan);
  return tracer.startActiveSpan(name, options, parent ?? context.active(), work);
}

/** Starts a span without making it the active one; the caller ends it. */
export function openSpan(
  name: string,
  { parent, ...options }: SpanOptions & { readonly parent: Context },
): Span {
  return findTracer()?.startSpan(name, options, parent) ?? noopSpan;
}

/** Undefined while telemetry is off. */
function findTracer(): Tracer | undefined {
  const provider = trace.getTracerProvider();
  const isOff = provider instanceof ProxyTracerProvider && provider.getDelegate() === noopProvider;
  return isOff ? undefined : provider.getTracer('agent-action-gateway');
}

/** Runs `work` inside a span, and marks the span failed with the error's code when it throws. */
export function inSpan<T>(
  name: string,
  options: SpanOptions & { readonly parent?: Context },
  work: () => Promise<T>,
): Promise<T> {
  return startSpan(name, options, async (span) => {
    try {
      return await work();
    } catch (error) {
      span.setStatus({ code: SpanStatusCode.ERROR, message: AppError.from(error).code });
      throw error;
    } finally {
      span.end();
    }
  });
}

type Layer = 'transport' | 'authentication' | 'permission' | 'execution' | 'audit';

/** Runs `work` inside a span that has the name of a layer, and records how long it took. */
export async function inLayer<T>(
  layer: Layer,
  attributes: Attributes,
  work: () => Promise<T>,
): Promise<T> {
  const startedAt = startDuration();
  let errorType = '';
  try {
    return await inSpan(layer, { attributes }, work);
  } catch (error) {
    errorType = AppError.from(error).code;
    throw error;
  } finally {
    recordDuration('aag.call.layer.duration', startedAt, { layer, 'error.type': errorType });
  }
}
