import { spawn } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { createInterface } from 'node:readline';
import type { Readable } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';

import { EmbeddedError } from './embedded-error.ts';

/** What this folder needs of a logger; pino's fits. */
export interface EmbeddedLogger {
  info(fields: object, message: string): void;
  warn(fields: object, message: string): void;
  error(fields: object, message: string): void;
}

/** Signals of growing force, each with a bounded wait. */
export type StopSteps = readonly { readonly signal: NodeJS.Signals; readonly waitMs: number }[];

export interface ServerUser {
  readonly uid: number;
  readonly gid: number;
}

export interface ServerCommand {
  /** What sentences call it. */
  readonly name: string;
  readonly command: string;
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  readonly cwd?: string;
  /** The user to run as, where it is not ours. */
  readonly user?: ServerUser | undefined;
  /** Open files that the server inherits as its descriptors 3, 4, and so on. */
  readonly inherit?: readonly number[];
  readonly readyTimeoutMs: number;
  readonly stopSteps: StopSteps;
  /** Called with each line the server writes to its log; answers whether it says "ready". */
  readonly onLine: (line: string) => boolean;
}

export interface ServerProcess {
  readonly pid: number;
  /** Settles, with a sentence, only if the server ends without having been asked to. */
  readonly exited: Promise<string>;
  stop(): Promise<void>;
}

/** Enough to see why a server did not start. */
const linesKept = 12;
const lastWordsMs = 200;

/** Starts a server and waits until it says that it is ready. */
export async function startServerProcess(server: ServerCommand): Promise<ServerProcess> {
  const child = spawn(server.command, server.args, {
    ...server.user,
    // In its own session the server does not get the terminal's Ctrl-C, and clients drain first.
    detached: true,
    cwd: server.cwd ?? '/',
    env: server.env,
    stdio: ['ignore', 'ignore', 'pipe', ...(server.inherit ?? [])],
  });
  const ended = whenEnded(child, server.stopSteps);
  const log = watchLog(child.stderr as Readable, server.onLine);

  let stopped: Promise<void> | undefined;
  const stop = () => (stopped ??= stopChild(child, ended, server.stopSteps));

  const deadline = new AbortController();
  const failure = await Promise.race([
    log.ready,
    ended,
    sleep(server.readyTimeoutMs, 'is not ready in time', { signal: deadline.signal }),
  ]);
  deadline.abort();
  if (failure !== undefined) {
    await stop();
    await Promise.race([log.closed, sleep(lastWordsMs)]);
    throw new EmbeddedError([`${server.name} ${failure}.`, ...log.lastLines].join('\n  '));
  }

  const exited = new Promise<string>((settle) => {
    void ended.then((how) => {
      if (!stopped) settle([`${server.name} ${how}.`, ...log.lastLines].join('\n  '));
    });
  });
  return { pid: child.pid as number, exited, stop };
}

function whenEnded(child: ChildProcess, stopSteps: StopSteps): Promise<string> {
  // For a process of ours that ends without disposing, by an uncaught error for example.
  const killAtExit = () => child.kill(stopSteps[0]?.signal);
  process.once('exit', killAtExit);
  return new Promise((settle) => {
    child.once('error', (error) => settle(`cannot be run (${error.message})`));
    child.once('exit', (code, signal) => {
      process.off('exit', killAtExit);
      settle(signal ? `was ended by ${signal}` : `ended with code ${code}`);
    });
  });
}

/** Reads the log to its end: a server whose pipe is full would stand still. */
function watchLog(stream: Readable, onLine: ServerCommand['onLine']) {
  const lastLines: string[] = [];
  const reader = createInterface({ input: stream });
  const ready = new Promise<undefined>((settle) => {
    reader.on('line', (line) => {
      lastLines.push(line);
      if (lastLines.length > linesKept) lastLines.shift();
      if (onLine(line)) settle(undefined);
    });
  });
  const closed = new Promise<void>((settle) => void reader.once('close', settle));
  return { ready, closed, lastLines };
}

async function stopChild(
  child: ChildProcess,
  ended: Promise<string>,
  steps: StopSteps,
): Promise<void> {
  for (const { signal, waitMs } of [...steps, { signal: 'SIGKILL', waitMs: 5_000 } as const]) {
    if (child.pid === undefined || child.exitCode !== null || child.signalCode !== null) return;
    child.kill(signal);
    const waiting = new AbortController();
    await Promise.race([ended, sleep(waitMs, undefined, { signal: waiting.signal })]);
    waiting.abort();
  }
}
