import { spawn } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { createInterface } from 'node:readline';
import type { Readable } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';

import { EmbeddedError } from './embedded-error.ts';

/** The part of a logger that the embedded servers use; pino's loggers have it. */
export interface EmbeddedLogger {
  info(fields: object, message: string): void;
  warn(fields: object, message: string): void;
  error(fields: object, message: string): void;
}

/** The signals that stop a server, from the gentlest to the strongest, each with a limited wait. */
export type StopSteps = readonly { readonly signal: NodeJS.Signals; readonly waitMs: number }[];

export interface ServerUser {
  readonly uid: number;
  readonly gid: number;
}

export interface ServerCommand {
  /** The server's name in messages. */
  readonly name: string;
  readonly command: string;
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  readonly cwd?: string;
  /** The user that runs the server; by default the present user. */
  readonly user?: ServerUser | undefined;
  /** Open files that the server inherits as its descriptors 3, 4, and so on. */
  readonly inherit?: readonly number[];
  readonly readyTimeoutMs: number;
  readonly stopSteps: StopSteps;
  /** Aborting this signal ends a start that is under way. */
  readonly signal?: AbortSignal | undefined;
  /**
   * Called with each line of the server's log; returns whether the line says that the server is
   * ready.
   */
  readonly onLine: (line: string) => boolean;
}

export interface ServerProcess {
  readonly pid: number;
  /** Resolves, with an error message, only if the server ends unexpectedly. */
  readonly exited: Promise<string>;
  /**
   * Stops the server: by the signals of `stopSteps`, and in the end by SIGKILL. A server that hangs
   * gets little time for each.
   */
  stop(options?: { isHanging?: boolean }): Promise<void>;
}

/** The number of last log lines that an error quotes. */
const linesKeptMax = 12;
const lastLinesWaitMs = 200;
const hangingWaitMs = 500;

/** Starts a server and waits until it says that it is ready. */
export async function startServerProcess(server: ServerCommand): Promise<ServerProcess> {
  const child = spawn(server.command, server.args, {
    ...server.user,
    // In its own session the server does not receive the terminal's Ctrl-C, so clients can
    // disconnect before it stops.
    detached: true,
    cwd: server.cwd ?? '/',
    env: server.env,
    stdio: ['ignore', 'ignore', 'pipe', ...(server.inherit ?? [])],
  });
  const processEnd = waitForEnd(child, server.stopSteps);
  const log = watchLog(child.stderr as Readable, server.onLine);

  let pendingStop: Promise<void> | undefined;
  const stop = ({ isHanging = false } = {}) =>
    (pendingStop ??= stopChild(
      child,
      processEnd,
      isHanging ? toHurriedSteps(server.stopSteps) : server.stopSteps,
    ));

  const deadline = new AbortController();
  const failure = await Promise.race([
    log.ready,
    processEnd,
    sleep(server.readyTimeoutMs, 'is not ready in time', { signal: deadline.signal }),
    waitForAbort(server.signal, deadline.signal),
  ]);
  deadline.abort();
  if (failure !== undefined) {
    await stop();
    await Promise.race([log.closed, sleep(lastLinesWaitMs)]);
    throw new EmbeddedError([`${server.name} ${failure}.`, ...log.lastLines].join('\n  '));
  }

  const exited = new Promise<string>((settle) => {
    void processEnd.then((endReason) => {
      if (!pendingStop) settle([`${server.name} ${endReason}.`, ...log.lastLines].join('\n  '));
    });
  });
  return { pid: child.pid as number, exited, stop };
}

function waitForEnd(child: ChildProcess, stopSteps: StopSteps): Promise<string> {
  // Stops the server when this process ends without disposing it, for example after an uncaught
  // error.
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

/** Reads the log to its end, because a server whose output pipe is full would block. */
function watchLog(stream: Readable, onLine: ServerCommand['onLine']) {
  const lastLines: string[] = [];
  const reader = createInterface({ input: stream });
  const ready = new Promise<undefined>((settle) => {
    reader.on('line', (line) => {
      lastLines.push(line);
      if (lastLines.length > linesKeptMax) lastLines.shift();
      if (onLine(line)) settle(undefined);
    });
  });
  const readerClosed = new Promise<void>((settle) => void reader.once('close', settle));
  return { ready, closed: readerClosed, lastLines };
}

function waitForAbort(signal: AbortSignal | undefined, untilSignal: AbortSignal): Promise<string> {
  return new Promise((settle) => {
    const abort = () => settle('was stopped during its start');
    if (signal?.aborted === true) abort();
    signal?.addEventListener('abort', abort, { once: true, signal: untilSignal });
  });
}

function toHurriedSteps(steps: StopSteps): StopSteps {
  return steps.map(({ signal }) => ({ signal, waitMs: hangingWaitMs }));
}

async function stopChild(
  child: ChildProcess,
  processEnd: Promise<string>,
  steps: StopSteps,
): Promise<void> {
  for (const { signal, waitMs } of [...steps, { signal: 'SIGKILL', waitMs: 5_000 } as const]) {
    if (child.pid === undefined || child.exitCode !== null || child.signalCode !== null) return;
    child.kill(signal);
    const waitController = new AbortController();
    await Promise.race([processEnd, sleep(waitMs, undefined, { signal: waitController.signal })]);
    waitController.abort();
  }
}
