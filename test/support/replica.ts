import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import type { Component } from '#contracts/vocabulary';
import { isReady, startComponent } from './component-process.ts';
import { lastingPort } from '../../services-src/embedded/index.ts';
import { pollUntil } from './world.ts';
import type { World } from './world.ts';

/** One more replica of a component, in a separate process that a test can kill or stop. */
export interface Replica extends AsyncDisposable {
  signal(signal: NodeJS.Signals): void;
  /** Sends SIGKILL and waits until the process is gone. */
  kill(): Promise<void>;
}

/**
 * Starts one more replica of a component. It uses the same servers as the components of the world.
 */
export async function startReplica(world: World, component: Component): Promise<Replica> {
  await using startup = new AsyncDisposableStack();
  const folder = await mkdtemp(join(tmpdir(), 'aag-replica-'));
  startup.defer(() => rm(folder, { recursive: true, force: true }));
  const logPath = join(folder, 'log');
  const healthPort = await lastingPort();
  const environment = { ...world.environment, OAUTH_PORT: '0' };
  const replica = await startComponent({ component, environment, healthPort, logPath });
  startup.defer(() => replica.stop());
  await pollUntil(async () => replica.isOver() || (await isReady(healthPort)), component);
  if (replica.isOver()) throw new Error(`${component} ended: ${await readFile(logPath, 'utf8')}`);

  const running = startup.move();
  return {
    signal: (signal) => replica.signal(signal),
    async kill() {
      replica.signal('SIGKILL');
      await replica.ended;
    },
    [Symbol.asyncDispose]: () => running.disposeAsync(),
  };
}
