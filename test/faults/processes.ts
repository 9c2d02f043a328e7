import { spawn } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { open, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';

import { components } from '#contracts/vocabulary';
import type { Component } from '#contracts/vocabulary';
import { lastingPort } from './port.ts';
import { replicasOf } from './schedule.ts';

/** One component's own process and process group, started again whenever it ends, as by compose. */
export interface Replica {
  readonly name: string;
  /** SIGKILL to the whole group, and another start after `downMs`. */
  kill(downMs: number): Promise<void>;
  signal(signal: NodeJS.Signals): void;
  /** Whether it serves, or did when it was stopped. */
  isReady(): boolean;
  untilReady(): Promise<void>;
}

export interface Processes extends AsyncDisposable {
  readonly all: readonly Replica[];
  get(name: string): Replica;
  /** The gateways' addresses. */
  readonly urls: readonly string[];
  /** What the named replica has logged in all its lives. */
  logOf(name: string): Promise<string>;
  /** Processes that had been serving and ended without having been told to: there should be none. */
  readonly crashes: readonly string[];
}

const passedOn = ['PATH', 'HOME', 'TMPDIR', 'NODE_EXTRA_CA_CERTS'];
/** Between the end of a process and its next start. */
const supervisorPauseMs = 300;

/** Every component in as many processes as `replicasOf` says, each with its `main.ts`. */
export async function startProcesses(
  folder: string,
  environment: Record<string, string>,
): Promise<Processes> {
  await using startup = new AsyncDisposableStack();
  const all: (Replica & AsyncDisposable)[] = [];
  const crashes: string[] = [];
  const endWithUs = () => {
    for (const replica of all) replica.signal('SIGKILL');
  };
  process.once('exit', endWithUs);
  startup.defer(() => void process.off('exit', endWithUs));
  const gatewayPorts = [await lastingPort(), await lastingPort()];
  const oauthPort = await lastingPort();
  const common = {
    ...Object.fromEntries(passedOn.map((name) => [name, process.env[name]])),
    LOG_LEVEL: 'warn',
    ...environment,
    PORT: String(gatewayPorts[0]),
    OAUTH_PORT: String(oauthPort),
    OAUTH_URL: `http://127.0.0.1:${oauthPort}`,
  };
  for (const component of components) {
    for (let number = 1; number <= replicasOf[component]; number += 1) {
      const healthPort = await lastingPort();
      const own = {
        ...(component === 'gateway' && { PORT: String(gatewayPorts[number - 1]) }),
        // The gateways forward sign-ins to the first one.
        ...(component === 'auth' && number > 1 && { OAUTH_PORT: '0' }),
      };
      const replica = startReplica({
        name: `${component}-${number}`,
        component,
        folder,
        healthPort,
        crashes,
        environment: { ...common, ...own, HEALTH_PORT: String(healthPort) },
      });
      all.push(startup.use(replica));
    }
  }
  await Promise.all(all.map((replica) => replica.untilReady()));

  const running = startup.move();
  return {
    all,
    crashes,
    urls: gatewayPorts.map((port) => `http://127.0.0.1:${port}`),
    get(name) {
      const found = all.find((replica) => replica.name === name);
      if (!found) throw new Error(`there is no ${name}`);
      return found;
    },
    logOf: (name) => readFile(logPath(folder, name), 'utf8'),
    [Symbol.asyncDispose]: () => running.disposeAsync(),
  };
}

interface ReplicaOptions {
  readonly name: string;
  readonly component: Component;
  readonly folder: string;
  readonly healthPort: number;
  readonly environment: Record<string, string | undefined>;
  readonly crashes: string[];
}

function startReplica(options: ReplicaOptions): Replica & AsyncDisposable {
  const { name, component, folder, healthPort, environment, crashes } = options;
  let child: ChildProcess | undefined;
  let isReady = false;
  let isOver = false;
  let downMs = 0;
  let isToldToEnd = false;

  const spawnOnce = async (): Promise<void> => {
    await using log = await open(logPath(folder, name), 'a');
    const started = spawn(process.execPath, [`${component}/main.ts`], {
      env: environment,
      detached: true,
      stdio: ['ignore', log.fd, log.fd],
    });
    child = started;
    isReady = false;
    isToldToEnd = false;
    void watchReady(started);
    const [code, signal] = (await once(started, 'exit')) as [number | null, string | null];
    if (isReady && !isToldToEnd) crashes.push(`${name} ended: ${code ?? signal}`);
    isReady = false;
  };
  const watchReady = async (started: ChildProcess): Promise<void> => {
    while (child === started && !isReady && started.exitCode === null) {
      isReady = await isHealthy(healthPort);
      if (!isReady) await sleep(100);
    }
  };
  const supervising = (async () => {
    while (!isOver) {
      await spawnOnce();
      if (!isOver) await sleep(supervisorPauseMs + downMs);
      downMs = 0;
    }
  })();
  const signalGroup = (signal: NodeJS.Signals) => {
    try {
      if (child?.pid !== undefined) process.kill(-child.pid, signal);
    } catch (error) {
      // Between two lives there is nobody to hear it.
      if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error;
    }
  };
  return {
    name,
    async kill(down) {
      downMs = down;
      isToldToEnd = true;
      signalGroup('SIGKILL');
    },
    signal: signalGroup,
    isReady: () => isReady,
    async untilReady() {
      for (let round = 0; round < 1_200 && !isReady; round += 1) await sleep(100);
      if (!isReady) throw new Error(`${name} is not ready within two minutes`);
    },
    async [Symbol.asyncDispose]() {
      isOver = true;
      isToldToEnd = true;
      signalGroup('SIGCONT');
      signalGroup('SIGTERM');
      const tooLate = setTimeout(() => signalGroup('SIGKILL'), 20_000);
      await supervising;
      clearTimeout(tooLate);
    },
  };
}

async function isHealthy(port: number): Promise<boolean> {
  try {
    const signal = AbortSignal.timeout(1_000);
    return (await fetch(`http://127.0.0.1:${port}/health/ready`, { signal })).ok;
  } catch {
    return false;
  }
}

function logPath(folder: string, name: string): string {
  return join(folder, `${name}.log`);
}
