import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { constants } from 'node:os';
import { fileURLToPath } from 'node:url';

import { Refusal } from './refusal.ts';
import type { Environment } from './settings.ts';

/**
 * `action-gateway start`: does what `npm start` does, until the program ends or is told to stop. The
 * exit code is the one of the program.
 *
 * @throws Refusal if this is not a whole checkout.
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
    // With this variable the program also ends when its parent is killed, as it does below npm.
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
