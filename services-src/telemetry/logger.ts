import { trace } from '@opentelemetry/api';
import { pino } from 'pino';
import type { Logger } from 'pino';

import { currentRequestId } from './request-id.ts';

export type { Logger };

/** The fields whose values never appear in the log, even when a whole request is logged. */
const redactedPaths = [
  'authorization',
  'cookie',
  'password',
  'secret',
  'value',
  'key',
  'token',
  '*.authorization',
  '*.cookie',
  '*.password',
  '*.secret',
  '*.value',
  '*.token',
  'headers.authorization',
  'headers.cookie',
];

/** The component whose logger this is; empty for another logger. */
export function componentOf(logger: Logger | undefined): string {
  return String(logger?.bindings()['component'] ?? '');
}

/**
 * Creates a logger that writes JSON lines to stdout. Each line names the component, the id of the
 * client's request that is being served, and the trace and the span that it is part of.
 */
export function createLogger({ component, level }: { component: string; level: string }): Logger {
  return pino({
    level,
    base: { component },
    timestamp: pino.stdTimeFunctions.isoTime,
    formatters: { level: (label) => ({ level: label }) },
    redact: { paths: redactedPaths, censor: '[REDACTED]' },
    mixin: () => {
      const requestId = currentRequestId();
      const span = trace.getActiveSpan()?.spanContext();
      return {
        ...(requestId !== undefined && { requestId }),
        ...(span && { traceId: span.traceId, spanId: span.spanId }),
      };
    },
  });
}
