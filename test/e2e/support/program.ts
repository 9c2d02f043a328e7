import { spawn } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { readFile, readdir, readlink, realpath } from 'node:fs/promises';
import { join } from 'node:path';

import { until } from './world.ts';

export interface Ended {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
}

/** `node start.ts` as a process of its own. */
export interface Program extends AsyncDisposable {
  readonly pid: number;
  readonly output: { readonly stdout: string; readonly stderr: string };
  /** The address it prints once it serves; throws when it ends before. */
  url(): Promise<string>;
  /** The one-time link it prints after that. */
  signInUrl(): Promise<string>;
  kill(signal: NodeJS.Signals): void;
  readonly ended: Promise<Ended>;
}

/** What a settings file of somebody's shell would add to the tests must not count. */
const passedOn = ['PATH', 'HOME', 'TMPDIR', 'NODE_EXTRA_CA_CERTS'];

export function startProgram(dataDir: string, settings: Record<string, string> = {}): Program {
  const inherited = passedOn.map((name) => [name, process.env[name]] as const);
  const child: ChildProcess = spawn(process.execPath, ['start.ts'], {
    env: { ...Object.fromEntries(inherited), DATA_DIR: dataDir, PORT: '0', ...settings },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const output = { stdout: '', stderr: '' };
  child.stdout?.on('data', (chunk: Buffer) => (output.stdout += chunk.toString()));
  child.stderr?.on('data', (chunk: Buffer) => (output.stderr += chunk.toString()));
  const ended = once(child, 'close').then(([code, signal]): Ended => ({ code, signal }));

  const printed = async (pattern: RegExp): Promise<string> => {
    await until(
      () => pattern.test(output.stdout) || child.exitCode !== null || child.signalCode !== null,
      `${pattern} of start.ts`,
    );
    const found = pattern.exec(output.stdout)?.[1];
    if (found === undefined) throw new Error(`start.ts ended: ${output.stdout}${output.stderr}`);
    return found;
  };
  return {
    pid: child.pid ?? 0,
    output,
    ended,
    url: () => printed(/^Agent Action Gateway: (\S+)\n/m),
    signInUrl: () => printed(/^Sign in: (\S+)\n/m),
    kill: (signal) => void child.kill(signal),
    async [Symbol.asyncDispose]() {
      child.kill('SIGTERM');
      const tooLate = setTimeout(() => child.kill('SIGKILL'), 20_000);
      await ended;
      clearTimeout(tooLate);
    },
  };
}

/** Superuser of the Postgres that a program runs in its folder: its socket, and its password file. */
export async function adminUrlOf(dataDir: string): Promise<string> {
  const password = await readFile(join(dataDir, 'postgres/password'), 'utf8');
  const socket = encodeURIComponent(join(dataDir, 'postgres/run'));
  return `postgres://postgres:${encodeURIComponent(password)}@localhost/gateway?host=${socket}`;
}

/** Command lines of the live processes that work in or below a folder, or name it. */
export async function processesOf(dataDir: string): Promise<string[]> {
  const folder = await realpath(dataDir);
  const found = await Promise.all(
    (await readdir('/proc'))
      .filter((name) => /^\d+$/.test(name) && Number(name) !== process.pid)
      .map(async (pid) => {
        const cwd = await readlink(`/proc/${pid}/cwd`).catch(() => '');
        const line = await readFile(`/proc/${pid}/cmdline`, 'utf8').catch(() => '');
        const isThere = cwd === folder || cwd.startsWith(`${folder}/`) || line.includes(folder);
        return isThere ? `${pid} ${line.replaceAll('\0', ' ').trim()}` : '';
      }),
  );
  return found.filter((line) => line !== '');
}

/** After a failed test: whatever SIGKILL has left behind in a folder of ours. */
export async function endProcessesOf(dataDir: string): Promise<void> {
  for (const line of await processesOf(dataDir)) {
    try {
      process.kill(Number.parseInt(line, 10), 'SIGKILL');
    } catch {
      // It has ended by itself meanwhile.
    }
  }
}
