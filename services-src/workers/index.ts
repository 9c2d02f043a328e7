export { WorkerPool } from './pool.ts';
export { FairQueue } from './fair-queue.ts';
export type { StepFailure, WorkerJob, WorkerReport, WorkerTask } from './pool.ts';
export {
  createProcessStarter as processStarter,
  createThreadStarter as threadStarter,
} from './worker.ts';
