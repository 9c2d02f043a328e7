export { countFitting, handleInGroups } from './handle-in-groups.ts';
export type { GroupLimits } from './handle-in-groups.ts';
export { repeat } from './repeat.ts';
export type { Repeating } from './repeat.ts';
export {
  runOrExit as orExit,
  processSettings,
  runComponent,
  startObserving,
  warnOfStrayVariables,
} from './run-component.ts';
export type { RunningComponent } from './run-component.ts';
export { prepareStop } from './stop-server.ts';
export { waitForStopSignal as untilStopped } from './stop.ts';
export { settleWithin as within } from './within.ts';
