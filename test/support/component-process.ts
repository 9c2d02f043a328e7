import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { open } from 'node:fs/promises';

import type { Environment } from '#config';
import type { Component } from '#contracts/vocabulary';
import { programEnv } from './program-env.ts';

/** A component in a separate process, which has a separate process group. */
export interface ComponentProcess {
  /** Resolves with the exit code, or the signal that ended the process. */
  readonly ended: Promise<number | NodeJS.Signals>;
  isOver(): boolean;
  /** Sends the signal to the whole process group. */
  signal(signal: NodeJS.Signals): void;
  /** Ends the process as an orchestrator does: sends SIGTERM, and SIGKILL after a minute. */
  stop(): Promise<void>;
}

interface Options {
  readonly component: Component;
  /** The arguments of Node; by default the `main.ts` of the component. */
  readonly args?: readonly string[];
  /** The checkout from which the process is started; by default this one. */
  readonly folder?: string;
  readonly environment: Environment;
  readonly healthPort: number;
  /** The file to which everything that the process prints is appended. */
  readonly logPath: string;
}

const processes = new Set<ComponentProcess>();
// Kills the processes that still run, so that they end with the tests.
process.once('exit', () => {
  for (const each of processes) each.signal('SIGKILL');
});

/** Starts the process of a component; does not wait until it is ready. */
export async function startComponent(options: Options): Promise<ComponentProcess> {
  const { component, args = [`${component}/main.ts`], folder, environment } = options;
  const { healthPort, logPath } = options;
  await using log = await open(logPath, 'a');
  const child = spawn(process.execPath, args, {
    cwd: folder,
    env: {
      ...programEnv,
      LOG_LEVEL: 'warn',
      ...environment,
      HEALTH_PORT: String(healthPort),
    },
    detached: true,
    stdio: ['ignore', log.fd, log.fd],
  });
  const ended = once(child, 'exit').then(([code, signal]) => {
    processes.delete(componentProcess);
    return (code ?? signal) as number | NodeJS.Signals;
  });
  const signalGroup = (signal: NodeJS.Signals) => {
    try {
      if (child.pid !== undefined) process.kill(-child.pid, signal);
    } catch (error) {
      // ESRCH: all processes of the group have already ended.
      if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error;
    }
  };
  const componentProcess: ComponentProcess = {
    ended,
    isOver: () => child.exitCode !== null || child.signalCode !== null,
    signal: signalGroup,
    async stop() {
      // A process that was stopped by SIGSTOP does not notice SIGTERM.
      signalGroup('SIGCONT');
      child.kill('SIGTERM');
      const killTimer = setTimeout(() => signalGroup('SIGKILL'), 60_000);
      await ended;
      clearTimeout(killTimer);
    },
  };
  processes.add(componentProcess);
  return componentProcess;
}

/**
 * A stopped process refuses connections at once. So only a busy machine makes an answer take long.
 */
const answerTimeoutMs = 30_000;

/** Whether the component with this health port reports that it is ready. */
export async function isReady(healthPort: number): Promise<boolean> {
  try {
    const signal = AbortSignal.timeout(answerTimeoutMs);
    const answer = await fetch(`http://127.0.0.1:${healthPort}/health/ready`, { signal });
    await answer.arrayBuffer();
    return answer.ok;
  } catch {
    return false;
  }
}
