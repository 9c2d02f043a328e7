export { ThreadPool } from './pool.ts';
export type { StepFailure, ThreadJob, ThreadReport } from './pool.ts';
