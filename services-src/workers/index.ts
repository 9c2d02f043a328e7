export { WorkerPool } from './pool.ts';
export { Turns } from './turns.ts';
export type { StepFailure, WorkerJob, WorkerReport } from './pool.ts';
export { processStarter, threadStarter } from './worker.ts';
