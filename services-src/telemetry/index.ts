export { createLogger } from './logger.ts';
export type { Logger } from './logger.ts';
export { inSpan } from './span.ts';
export { startTelemetry } from './start.ts';
