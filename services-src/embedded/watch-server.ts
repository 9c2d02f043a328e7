import { statfs } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';

import type { EmbeddedLogger, ServerProcess } from './server-process.ts';

/** The pause between an answer of the server and the next question. */
const askEveryMs = 3_000;
/**
 * A server that answers nothing for this long counts as broken. The limit is long, because a server
 * under load may stall for a few seconds and must not be killed for that.
 */
const silentMsMax = 15_000;
const tickMs = 250;

/**
 * The most starts within `startsWithinMs`. A further start would not help a server that needs more.
 */
const startsMax = 5;
const startsWithinMs = 5 * 60_000;
/**
 * The pauses before the first, second and third start within a minute; `pauseMsMax` before each
 * further one.
 */
const pausesMs = [0, 500, 1_000];
const pauseMsMax = 2_000;
const recentMs = 60_000;

/** With less space than this, neither server can be expected to start. */
const diskFreeBytesMin = 32 * 1024 * 1024;

export interface WatchedServer {
  readonly name: string;
  /** The folder with the server's data. */
  readonly dataPath: string;
  readonly logger: EmbeddedLogger;
  /** Starts the server with the same data, at the same address each time. */
  readonly start: (signal: AbortSignal) => Promise<ServerProcess>;
  /**
   * Asks the server for something that only a working server can do. Rejects when no answer comes
   * within the time.
   */
  readonly ask: (timeoutMs: number) => Promise<void>;
}

/**
 * Starts a server and keeps it running: when it has ended or no longer answers, it is stopped and
 * started again. `exited` resolves only when that does not help.
 */
export async function startWatched(server: WatchedServer): Promise<ServerProcess> {
  const stopController = new AbortController();
  let currentServer = await server.start(stopController.signal);
  let isSilent = false;

  const keepRunning = async (): Promise<string | undefined> => {
    const recentStarts = createStarts(server);
    for (;;) {
      const failure = await waitUntilDown(server, currentServer, stopController.signal);
      if (failure === undefined) return undefined;
      server.logger.error({ server: server.name, failure }, 'starting a server again');
      isSilent = true;
      await currentServer.stop({ isHanging: true });
      const startResult = await recentStarts.startAgain(failure, stopController.signal);
      if (typeof startResult === 'string') return startResult;
      if (startResult === undefined) return undefined;
      currentServer = startResult;
      isSilent = false;
      server.logger.warn({ server: server.name, pid: currentServer.pid }, 'a server works again');
    }
  };
  const finalFailure = keepRunning();

  return {
    get pid() {
      return currentServer.pid;
    },
    exited: new Promise((settle) => {
      void finalFailure.then((failure) => failure !== undefined && settle(failure));
    }),
    async stop() {
      stopController.abort();
      await finalFailure;
      await currentServer.stop({ isHanging: isSilent });
    },
  };
}

/** Resolves with what is wrong with the server, or with undefined when it is to be stopped. */
async function waitUntilDown(
  server: WatchedServer,
  { exited }: ServerProcess,
  stopSignal: AbortSignal,
): Promise<string | undefined> {
  const endController = new AbortController();
  const signal = AbortSignal.any([endController.signal, stopSignal]);
  const stopRequested = new Promise<undefined>((settle) => {
    if (signal.aborted) settle(undefined);
    signal.addEventListener('abort', () => settle(undefined), { once: true });
  });
  try {
    return await Promise.race([exited, waitUntilSilent(server, signal), stopRequested]);
  } finally {
    endController.abort();
  }
}

/**
 * Asks the server again and again, and resolves when it no longer answers. Silence is counted in
 * ticks of a timer, not by the clock: while this process is too busy to read an answer, or is
 * stopped, the timer does not tick either.
 */
async function waitUntilSilent({ name, ask }: WatchedServer, signal: AbortSignal): Promise<string> {
  let reason = 'no answer';
  let silentTicks = 0;
  const silentReason = Promise.withResolvers<string>();
  const tickTimer = setInterval(() => {
    silentTicks += 1;
    if (silentTicks * tickMs < silentMsMax) return;
    silentReason.resolve(
      `${name} has not answered for ${silentMsMax / 1_000} seconds (${reason}).`,
    );
  }, tickMs);
  signal.addEventListener('abort', () => clearInterval(tickTimer), { once: true });

  const askRepeatedly = async () => {
    while (!signal.aborted) {
      try {
        await ask(silentMsMax);
        silentTicks = 0;
      } catch (error) {
        reason = error instanceof Error ? error.message : String(error);
      }
      await pause(askEveryMs, signal);
    }
  };
  void askRepeatedly();
  return silentReason.promise;
}

function createStarts({ name, dataPath, logger, start }: WatchedServer) {
  let recentStarts: { readonly at: number; readonly isCounted: boolean }[] = [];

  /**
   * Resolves with a sentence when the server is given up, and with undefined when it is to be
   * stopped.
   */
  const startAgain = async (
    cause: string,
    signal: AbortSignal,
  ): Promise<ServerProcess | string | undefined> => {
    let failure = cause;
    while (!signal.aborted) {
      const now = performance.now();
      recentStarts = recentStarts.filter(({ at }) => now - at < startsWithinMs);
      // A full disk is not the server's fault, and somebody will free it. Starts while it is full
      // do not count: otherwise the server would be given up although it only has to wait.
      const isCounted = !(await isDiskFull(dataPath));
      if (isCounted && recentStarts.filter((each) => each.isCounted).length >= startsMax) {
        return describeGivingUp(name, failure);
      }
      if (!isCounted) logger.error({ server: name, dataPath }, 'the disk is full');
      const recentCount = recentStarts.filter(({ at }) => now - at < recentMs).length;
      await pause(pausesMs[recentCount] ?? pauseMsMax, signal);
      recentStarts.push({ at: performance.now(), isCounted });
      try {
        return await start(signal);
      } catch (error) {
        failure = error instanceof Error ? error.message : String(error);
        if (!signal.aborted) logger.error({ server: name, failure }, 'a server could not start');
      }
    }
    return undefined;
  };
  return { startAgain };
}

async function pause(ms: number, signal: AbortSignal): Promise<void> {
  await sleep(ms, undefined, { signal }).catch(() => undefined);
}

function describeGivingUp(name: string, failure: string): string {
  return (
    `${name} was started again ${startsMax} times within ${startsWithinMs / 60_000} minutes and ` +
    `does not stay up. Nothing that was answered is lost; start again once the cause is gone. ` +
    `The last failure: ${failure}`
  );
}

async function isDiskFull(path: string): Promise<boolean> {
  try {
    const { bavail, bsize } = await statfs(path);
    return bavail * bsize < diskFreeBytesMin;
  } catch {
    return false;
  }
}
