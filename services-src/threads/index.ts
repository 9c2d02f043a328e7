export { ThreadPool } from './pool.ts';
export { Turns } from './turns.ts';
export type { StepFailure, ThreadJob, ThreadReport } from './pool.ts';
