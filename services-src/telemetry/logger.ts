import { trace } from '@opentelemetry/api';
import { pino } from 'pino';
import type { Logger } from 'pino';

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
 * Creates a logger that writes JSON lines to stdout. Each line names the component and, inside a
 * span, the trace id.
 */
export function createLogger({ component, level }: { component: string; level: string }): Logger {
  return pino({
    level,
    base: { component },
    timestamp: pino.stdTimeFunctions.isoTime,
    formatters: { level: (label) => ({ level: label }) },
    redact: { paths: redactedPaths, censor: '[REDACTED]' },
    mixin: () => {
      const span = trace.getActiveSpan()?.spanContext();
      return span ? { traceId: span.traceId } : {};
    },
  });
}
