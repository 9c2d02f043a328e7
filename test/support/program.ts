import { spawn } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { readFile, readdir, readlink, realpath } from 'node:fs/promises';
import { join } from 'node:path';

import { pollUntil } from './world.ts';

export interface ProgramExit {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
}

/** `node start.ts` in a separate process. */
export interface Program extends AsyncDisposable {
  readonly pid: number;
  readonly output: { readonly stdout: string; readonly stderr: string };
  /**
   * The URL that the program prints when it is ready for requests. Rejects if the program ends
   * earlier.
   */
  url(): Promise<string>;
  /** The one-time sign-in link, which the program prints after its URL. */
  signInUrl(): Promise<string>;
  kill(signal: NodeJS.Signals): void;
  readonly ended: Promise<ProgramExit>;
}

/**
 * The only variables that a program inherits. Other variables of the developer's shell must not
 * change the tests.
 */
const inheritedNames = ['PATH', 'HOME', 'TMPDIR', 'NODE_EXTRA_CA_CERTS', 'NODE_COMPILE_CACHE'];

/**
 * `commandPrefix` is a command that runs the program. The program's command line is added to it.
 */
export function startProgram(
  dataDir: string,
  settings: Record<string, string> = {},
  commandPrefix: readonly string[] = [],
): Program {
  const inheritedVariables = inheritedNames.map((name) => [name, process.env[name]] as const);
  const [command = '', ...args]: string[] = [...commandPrefix, process.execPath, 'start.ts'];
  const child: ChildProcess = spawn(command, args, {
    env: { ...Object.fromEntries(inheritedVariables), DATA_DIR: dataDir, PORT: '0', ...settings },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const output = { stdout: '', stderr: '' };
  child.stdout?.on('data', (chunk: Buffer) => (output.stdout += chunk.toString()));
  child.stderr?.on('data', (chunk: Buffer) => (output.stderr += chunk.toString()));
  const ended = once(child, 'close').then(([code, signal]): ProgramExit => ({ code, signal }));

  const waitForPrinted = async (pattern: RegExp): Promise<string> => {
    await pollUntil(
      () => pattern.test(output.stdout) || child.exitCode !== null || child.signalCode !== null,
      `${pattern} of start.ts`,
    );
    const foundUrl = pattern.exec(output.stdout)?.[1];
    if (foundUrl === undefined) throw new Error(`start.ts ended: ${output.stdout}${output.stderr}`);
    return foundUrl;
  };
  return {
    pid: child.pid ?? 0,
    output,
    ended,
    url: () => waitForPrinted(/^Agent Action Gateway: (\S+)\n/m),
    signInUrl: () => waitForPrinted(/^Sign in: (\S+)\n/m),
    kill: (signal) => void child.kill(signal),
    async [Symbol.asyncDispose]() {
      child.kill('SIGTERM');
      const killTimer = setTimeout(() => child.kill('SIGKILL'), 20_000);
      await ended;
      clearTimeout(killTimer);
    },
  };
}

/**
 * The superuser's URL of the Postgres that a program runs in its data folder. The URL is built from
 * the socket and the password file in this folder.
 */
export async function adminUrlOf(dataDir: string): Promise<string> {
  const password = await readFile(join(dataDir, 'postgres/password'), 'utf8');
  const socket = encodeURIComponent(join(dataDir, 'postgres/run'));
  return `postgres://postgres:${encodeURIComponent(password)}@localhost/gateway?host=${socket}`;
}

/**
 * The command lines of running processes that use the given folder: their working folder is in it,
 * or their arguments contain its name.
 */
export async function processesOf(dataDir: string): Promise<string[]> {
  const folder = await realpath(dataDir);
  const commandLines = await Promise.all(
    (await readdir('/proc'))
      .filter((name) => /^\d+$/.test(name) && Number(name) !== process.pid)
      .map(async (pid) => {
        const cwd = await readlink(`/proc/${pid}/cwd`).catch(() => '');
        const line = await readFile(`/proc/${pid}/cmdline`, 'utf8').catch(() => '');
        const isInFolder = cwd === folder || cwd.startsWith(`${folder}/`) || line.includes(folder);
        return isInFolder ? `${pid} ${line.replaceAll('\0', ' ').trim()}` : '';
      }),
  );
  return commandLines.filter((line) => line !== '');
}

/**
 * Ends the processes of a folder. They remain when a failed test has killed their parent with
 * SIGKILL.
 */
export async function endProcessesOf(dataDir: string): Promise<void> {
  for (const line of await processesOf(dataDir)) {
    try {
      process.kill(Number.parseInt(line, 10), 'SIGKILL');
    } catch {
      // The process has already ended.
    }
  }
}
