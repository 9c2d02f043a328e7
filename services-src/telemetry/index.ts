export { createLogger } from './logger.ts';
export type { Logger } from './logger.ts';
export { areMetricsOn, count, observe, recordDuration, startDuration } from './metrics.ts';
export { observeSlots } from './observe-slots.ts';
export { pollBacklog } from './poll-backlog.ts';
export type { Backlog } from './poll-backlog.ts';
export { runWithRequestId } from './request-id.ts';
export { inLayer, inSpan } from './span.ts';
export { startTelemetry } from './start.ts';
