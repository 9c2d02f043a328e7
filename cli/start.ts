import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { constants } from 'node:os';
import { fileURLToPath } from 'node:url';

import { Refusal } from './refusal.ts';
import type { Environment } from './settings.ts';

/**
 * `action-gateway start`: does the same as `npm start`, until the started program ends or is told
 * to stop. The exit code is that of the started program.
 *
 * @throws Refusal if this is not a complete checkout.
 */
export async function startGateway(environment: Environment): Promise<void> {
  const bootstrap = fileURLToPath(new URL('../scripts/bootstrap.mjs', import.meta.url));
  if (!existsSync(bootstrap)) {
    throw new Refusal(
      'This package holds the command line alone. To start a gateway, clone its repository and run "npm start" there.',
    );
  }
  const child = spawn(process.execPath, [bootstrap, 'start.ts'], {
    stdio: 'inherit',
    // This variable makes the program end when its parent is killed, as it does under npm.
    env: { ...environment, npm_lifecycle_event: 'start' },
  });
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
    process.on(signal, () => child.kill(signal));
  }
  await new Promise<void>((resolve, reject) => {
    child.once('error', reject);
    child.once('exit', (code, signal) => {
      process.exitCode = signal === null ? (code ?? 1) : 128 + constants.signals[signal];
      resolve();
    });
  });
}
