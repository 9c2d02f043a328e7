import { trace } from '@opentelemetry/api';
import { pino } from 'pino';
import type { Logger } from 'pino';

export type { Logger };

/** Paths that never reach a log line even when somebody logs a whole request. */
const redacted = [
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

/** JSON lines on stdout, each with its component and, inside a span, its trace id. */
export function createLogger({ component, level }: { component: string; level: string }): Logger {
  return pino({
    level,
    base: { component },
    timestamp: pino.stdTimeFunctions.isoTime,
    formatters: { level: (label) => ({ level: label }) },
    redact: { paths: redacted, censor: '[REDACTED]' },
    mixin: () => {
      const span = trace.getActiveSpan()?.spanContext();
      return span ? { traceId: span.traceId } : {};
    },
  });
}
