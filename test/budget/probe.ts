import { isMainThread } from 'node:worker_threads';

/** What the main thread of one component has used since the last question. */
export interface Reading {
  /** CPU time in milliseconds. */
  readonly cpuMs: number;
  /** The most CPU time between two turns of its event loop. */
  readonly longestMs: number;
  /** Turns of its event loop that were looked at. */
  readonly turns: number;
}

/** The question of a test; the answer has the same number. */
export interface Question {
  readonly probe: number;
}
export type Answer = Question & Reading;

/** So often the loop is looked at while something is measured: what is shorter is not told apart. */
const everyMs = 5;
/** Nobody asks any more: the timer stops, so that it costs the next measurement nothing. */
const quietMs = 10_000;

// Preloaded by `node --import` into the process of a component; its threads and children inherit the flag.
if (isMainThread && process.send !== undefined && process.argv[1]?.endsWith('/main.ts')) {
  observe(process.send.bind(process));
}

function observe(send: (answer: Answer) => unknown): void {
  const cpuMs = () => {
    const { user, system } = process.threadCpuUsage();
    return (user + system) / 1_000;
  };
  let askedAt = 0;
  let timer: NodeJS.Timeout | undefined;
  let readAt = cpuMs();
  let turnAt = readAt;
  let longestMs = 0;
  let turns = 0;
  const turn = (): void => {
    const now = cpuMs();
    longestMs = Math.max(longestMs, now - turnAt);
    turnAt = now;
    turns += 1;
    if (performance.now() - askedAt < quietMs) return;
    clearInterval(timer);
    timer = undefined;
  };

  process.on('message', ({ probe }: Question) => {
    askedAt = performance.now();
    turn();
    send({ probe, cpuMs: turnAt - readAt, longestMs, turns });
    timer ??= setInterval(turn, everyMs).unref();
    turnAt = cpuMs();
    readAt = turnAt;
    longestMs = 0;
    turns = 0;
  });
  // The component ends as without a probe, and with its test.
  process.channel?.unref();
  process.on('disconnect', () => process.exit());
}
