import { mkdir, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import type { Environment } from './cache-dir.ts';
import { runProgram } from './run-program.ts';
import type { ProgramOutcome } from './run-program.ts';

/**
 * A temporary folder in which apt downloads packages. It needs no root and installs nothing; apt
 * checks the signatures of the archive.
 */
export interface Apt extends AsyncDisposable {
  readonly folder: string;
  /** Sets options of apt, each `Name=value`, for all later calls of `get`. */
  set(...options: string[]): void;
  /** Runs `apt-get` in the folder. */
  get(...args: string[]): Promise<ProgramOutcome>;
  /** Runs any program in the folder. */
  run(command: string, ...args: string[]): Promise<ProgramOutcome>;
}

/** How long one download may take. */
export const downloadTimeoutMs = 120_000;

/**
 * Creates a private folder for apt, and returns an `Apt` that uses it. apt inherits all variables
 * of the environment, because of the proxy settings.
 */
export async function openApt(environment: Environment): Promise<Apt> {
  const folder = await mkdtemp(join(tmpdir(), 'action-gateway-'));
  // apt does not make these folders itself, and without root it may not use the system's folders.
  await mkdir(join(folder, 'lists/partial'), { recursive: true });
  await mkdir(join(folder, 'cache/archives/partial'), { recursive: true });
  const env = Object.fromEntries(
    Object.entries(environment).filter((entry): entry is [string, string] => !!entry[1]),
  );
  const options: string[] = [];
  const apt: Apt = {
    folder,
    set: (...added) => void options.push(...added.flatMap((option) => ['-o', option])),
    get: (...args) => apt.run('apt-get', ...options, ...args),
    run: (command, ...args) =>
      runProgram({ command, args, cwd: folder, env, timeoutMs: downloadTimeoutMs }),
    [Symbol.asyncDispose]: () => rm(folder, { recursive: true, force: true }),
  };
  apt.set(
    `Dir::State::Lists=${folder}/lists`,
    `Dir::Cache=${folder}/cache`,
    'Debug::NoLocking=1',
    'APT::Sandbox::User=root', // Run as root, apt would otherwise switch to a user that may not enter this folder.
  );
  return apt;
}
