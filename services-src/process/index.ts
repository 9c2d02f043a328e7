export { repeat } from './repeat.ts';
export type { Repeating } from './repeat.ts';
export { orExit, runComponent } from './run-component.ts';
export type { RunningComponent } from './run-component.ts';
export { untilStopped } from './stop.ts';
