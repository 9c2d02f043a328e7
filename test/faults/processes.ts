import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';

import { components } from '#contracts/vocabulary';
import type { Component } from '#contracts/vocabulary';
import { lastingPort } from '../../services-src/embedded/index.ts';
import { isReady as isHealthy, startComponent } from '../support/component-process.ts';
import type { ComponentProcess } from '../support/component-process.ts';
import { replicasOf } from './schedule.ts';

/** One process of a component. Whenever it ends, it is started again, as docker compose does it. */
export interface Replica {
  readonly name: string;
  /** Sends SIGKILL to the whole process group. The process is started again after `downMs`. */
  kill(downMs: number): Promise<void>;
  signal(signal: NodeJS.Signals): void;
  /**
   * True if the process answers requests. While SIGSTOP pauses it, true if it answered requests
   * before.
   */
  isReady(): boolean;
  untilReady(): Promise<void>;
}

export interface Processes extends AsyncDisposable {
  readonly all: readonly Replica[];
  get(name: string): Replica;
  /** The gateways' URLs. */
  readonly urls: readonly string[];
  /** Everything that the processes have printed. */
  logs(): Promise<string>;
  /**
   * Processes that ended although nobody ended them, after they had answered requests. There should
   * be none.
   */
  readonly crashes: readonly string[];
}

/** The pause between the end of a process and its next start. */
const supervisorPauseMs = 300;

/** Starts the `main.ts` of each component in as many processes as `replicasOf` says. */
export async function startProcesses(
  folder: string,
  environment: Record<string, string>,
): Promise<Processes> {
  await using startup = new AsyncDisposableStack();
  const all: (Replica & AsyncDisposable)[] = [];
  const crashes: string[] = [];
  startup.defer(async () => {
    await Promise.all(all.map((replica) => replica[Symbol.asyncDispose]()));
  });
  const gatewayPorts = [await lastingPort(), await lastingPort()];
  const oauthPort = await lastingPort();
  const commonEnvironment = {
    SHUTDOWN_PAUSE_SECONDS: '1',
    ...environment,
    PORT: String(gatewayPorts[0]),
    OAUTH_PORT: String(oauthPort),
    OAUTH_URL: `http://127.0.0.1:${oauthPort}`,
  };
  for (const component of components) {
    for (let number = 1; number <= replicasOf[component]; number += 1) {
      const healthPort = await lastingPort();
      const ownEnvironment = {
        ...(component === 'gateway' && { PORT: String(gatewayPorts[number - 1]) }),
        // Only the first replica of auth uses the configured OAuth port. The gateways forward
        // sign-ins to this port.
        ...(component === 'auth' && number > 1 && { OAUTH_PORT: '0' }),
      };
      const replica = startReplica({
        name: `${component}-${number}`,
        component,
        logPath: join(folder, `${component}-${number}.log`),
        healthPort,
        crashes,
        environment: { ...commonEnvironment, ...ownEnvironment },
      });
      all.push(replica);
    }
  }
  await Promise.all(all.map((replica) => replica.untilReady()));

  const running = startup.move();
  return {
    all,
    crashes,
    urls: gatewayPorts.map((port) => `http://127.0.0.1:${port}`),
    get(name) {
      const foundReplica = all.find((replica) => replica.name === name);
      if (!foundReplica) throw new Error(`there is no ${name}`);
      return foundReplica;
    },
    async logs() {
      const paths = all.map(({ name }) => join(folder, `${name}.log`));
      return (await Promise.all(paths.map((path) => readFile(path, 'utf8')))).join('');
    },
    [Symbol.asyncDispose]: () => running.disposeAsync(),
  };
}

interface ReplicaOptions {
  readonly name: string;
  readonly component: Component;
  /** The log file of the replica. All restarts write to the same file. */
  readonly logPath: string;
  readonly healthPort: number;
  readonly environment: Record<string, string>;
  readonly crashes: string[];
}

function startReplica(options: ReplicaOptions): Replica & AsyncDisposable {
  const { name, healthPort, crashes } = options;
  let running: ComponentProcess | undefined;
  let isReady = false;
  let hasBeenDisposed = false;
  let downMs = 0;
  let isToldToEnd = false;

  const spawnOnce = async (): Promise<void> => {
    const started = await startComponent(options);
    if (hasBeenDisposed) started.signal('SIGKILL');
    running = started;
    isReady = false;
    isToldToEnd = false;
    void watchReady(started);
    const exitStatus = await started.ended;
    if (isReady && !isToldToEnd) crashes.push(`${name} ended: ${exitStatus}`);
    isReady = false;
  };
  const watchReady = async (started: ComponentProcess): Promise<void> => {
    while (running === started && !isReady && !started.isOver()) {
      isReady = await isHealthy(healthPort);
      if (!isReady) await sleep(100);
    }
  };
  const supervisionLoop = (async () => {
    while (!hasBeenDisposed) {
      await spawnOnce();
      if (!hasBeenDisposed) await sleep(supervisorPauseMs + downMs);
      downMs = 0;
    }
  })();
  return {
    name,
    async kill(down) {
      downMs = down;
      isToldToEnd = true;
      running?.signal('SIGKILL');
    },
    signal: (signal) => running?.signal(signal),
    isReady: () => isReady,
    async untilReady() {
      for (let round = 0; round < 3_000 && !isReady; round += 1) await sleep(100);
      if (!isReady) throw new Error(`${name} is not ready within five minutes`);
    },
    async [Symbol.asyncDispose]() {
      hasBeenDisposed = true;
      isToldToEnd = true;
      await running?.stop();
      await supervisionLoop;
    },
  };
}
