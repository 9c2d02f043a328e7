export { startExecutorBeats } from './executor-beats.ts';
export type { CallsInHand } from './executor-beats.ts';
export { followExecutors } from './follow-executors.ts';
export type { ExecutorFollower, FollowedCall } from './follow-executors.ts';
