import { SpanStatusCode, trace } from '@opentelemetry/api';
import type { Attributes } from '@opentelemetry/api';

import { AppError } from '#errors';

const tracer = trace.getTracer('agent-action-gateway');

/**
 * Runs `work` inside a span, and marks the span failed with the error's code when it throws.
 * Without a tracer provider (telemetry off) this costs one function call.
 */
export function inSpan<T>(
  name: string,
  attributes: Attributes,
  work: () => Promise<T>,
): Promise<T> {
  return tracer.startActiveSpan(name, { attributes }, async (span) => {
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
