import { isMainThread } from 'node:worker_threads';

/** What the main thread of one component has used since the test's previous question. */
export interface Reading {
  /** The CPU time in milliseconds. */
  readonly cpuMs: number;
  /** The most CPU time that was used between two turns of the event loop. */
  readonly longestMs: number;
  /** The number of turns of the event loop that the probe observed. */
  readonly turns: number;
}

/** A test's question to the probe. `probe` is the question's number, and the answer repeats it. */
export interface Question {
  readonly probe: number;
}
export type Answer = Question & Reading;

/**
 * How often the probe looks at the event loop. `longestMs` counts several turns within this
 * interval as one.
 */
const probeIntervalMs = 5;
/**
 * If the test asks nothing for this long, the probe stops its timer, so that it takes no CPU time
 * from later work.
 */
const probeTimeoutMs = 10_000;

// `node --import` loads this file first in a component's process. The process's threads and child
// processes inherit the option; this condition excludes them.
if (isMainThread && process.send !== undefined && process.argv[1]?.endsWith('/main.ts')) {
  observeEventLoop(process.send.bind(process));
}

function observeEventLoop(send: (answer: Answer) => unknown): void {
  const cpuMs = () => {
    const { user, system } = process.threadCpuUsage();
    return (user + system) / 1_000;
  };
  let askedAt = 0;
  let timer: NodeJS.Timeout | undefined;
  let cpuMsAtRead = cpuMs();
  let cpuMsAtTurn = cpuMsAtRead;
  let longestMs = 0;
  let turns = 0;
  const recordTurn = (): void => {
    const now = cpuMs();
    longestMs = Math.max(longestMs, now - cpuMsAtTurn);
    cpuMsAtTurn = now;
    turns += 1;
    if (performance.now() - askedAt < probeTimeoutMs) return;
    clearInterval(timer);
    timer = undefined;
  };

  process.on('message', ({ probe }: Question) => {
    askedAt = performance.now();
    recordTurn();
    send({ probe, cpuMs: cpuMsAtTurn - cpuMsAtRead, longestMs, turns });
    timer ??= setInterval(recordTurn, probeIntervalMs).unref();
    cpuMsAtTurn = cpuMs();
    cpuMsAtRead = cpuMsAtTurn;
    longestMs = 0;
    turns = 0;
  });
  // The channel to the test must not keep the component's process alive.
  process.channel?.unref();
  process.on('disconnect', () => process.exit());
}
