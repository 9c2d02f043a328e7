import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

import { expect } from 'vitest';

import { programEnv } from '../test/support/program-env.ts';
import type { Credential } from './credential/file.ts';
import { readLines } from './mcp/lines.ts';

const bin = fileURLToPath(new URL('bin.mjs', import.meta.url));

export interface Message {
  readonly id?: string | number | null;
  readonly method?: string;
  readonly result?: { readonly echo?: unknown };
  readonly error?: { readonly code: number; readonly message: string; readonly data?: unknown };
}

export interface Program extends AsyncDisposable {
  readonly child: ReturnType<typeof spawn>;
  /** Writes a line to stdin. Text is written unchanged, an object as a JSON-RPC message. */
  readonly send: (frame: string | Readonly<Record<string, unknown>>) => void;
  /** The next line of stdout; undefined when stdout has ended. */
  readonly nextLine: () => Promise<string | undefined>;
  /** The next frame on stdout; rejects when stdout has ended. */
  readonly nextFrame: () => Promise<Message>;
  readonly stderr: () => string;
  /** Closes stdin and waits until the program exits; returns the exit code. */
  readonly closeAndWait: () => Promise<number | null>;
  readonly exitCode: Promise<number | null>;
}

/**
 * Starts the real program as a process. Disposing an `mcp` program asserts that its stdout
 * contained only frames.
 */
export function startProgram(
  args: readonly string[],
  environment: Readonly<Record<string, string | undefined>> = {},
): Program {
  const child = spawn(process.execPath, [bin, ...args], {
    env: { ...programEnv, HOME: '/nonexistent', ...environment },
  });
  const lines: string[] = [];
  const unreadLines: string[] = [];
  const lineWaiters: ((line: string | undefined) => void)[] = [];
  let isEnded = false;
  const collectLines = async () => {
    for await (const line of readLines(child.stdout, 2 ** 30)) {
      const text = String(line);
      lines.push(text);
      const waiter = lineWaiters.shift();
      if (waiter) waiter(text);
      else unreadLines.push(text);
    }
  };
  const releaseWaiters = () => {
    isEnded = true;
    for (const waiter of lineWaiters) waiter(undefined);
  };
  // The waiting readers are also released when reading fails, for example because a test stopped
  // reading.
  void collectLines().then(releaseWaiters, releaseWaiters);
  let stderrText = '';
  child.stderr.setEncoding('utf8').on('data', (part: string) => (stderrText += part));
  child.stdin.on('error', () => {}); // a program that has ended no longer reads its stdin
  const exited = once(child, 'close').then(([code]) => code as number | null);

  const nextLine = () => {
    const line = unreadLines.shift();
    if (line !== undefined || isEnded) return Promise.resolve(line);
    return new Promise<string | undefined>((resolve) => lineWaiters.push(resolve));
  };
  return {
    child,
    nextLine,
    exitCode: exited,
    send: (frame) => {
      const line = typeof frame === 'string' ? frame : JSON.stringify({ jsonrpc: '2.0', ...frame });
      child.stdin.write(`${line}\n`);
    },
    nextFrame: async () => {
      const line = await nextLine();
      if (line === undefined) throw new Error(`stdout ended. stderr: ${stderrText}`);
      return JSON.parse(line) as Message;
    },
    stderr: () => stderrText,
    closeAndWait: () => {
      child.stdin.end();
      return exited;
    },
    [Symbol.asyncDispose]: async () => {
      child.kill('SIGKILL');
      await exited;
      const isShim = args[0] === 'mcp' && args[1]?.startsWith('-') !== false;
      if (!isShim) return;
      for (const line of lines) expect(JSON.parse(line)).toMatchObject({ jsonrpc: '2.0' });
    },
  };
}

/** Runs the real program, with `input` on its stdin, until it exits. */
export async function runToEnd(
  args: readonly string[],
  environment: Readonly<Record<string, string | undefined>> = {},
  input: string | Buffer = '',
) {
  const program = startProgram(args, environment);
  program.child.stdin?.end(input);
  const lines: string[] = [];
  for (let line = await program.nextLine(); line !== undefined; line = await program.nextLine()) {
    lines.push(line);
  }
  return { code: await program.exitCode, stdout: lines.join('\n'), stderr: program.stderr() };
}

/** A new folder for one test. */
export async function makeFolder(): Promise<AsyncDisposable & { path: string }> {
  const path = await mkdtemp(join(tmpdir(), 'action-gateway-cli-'));
  return { path, [Symbol.asyncDispose]: () => rm(path, { recursive: true }) };
}

/** Writes a login file like the one that `mcp login` writes. */
export async function writeLogin(
  path: string,
  gateway: string,
  credential: Partial<Credential> = {},
): Promise<void> {
  const login: Credential = {
    gateway,
    resource: gateway,
    issuer: gateway,
    token_endpoint: `${gateway}/oauth/token`,
    revocation_endpoint: `${gateway}/oauth/revoke`,
    client: { client_id: 'client-1', token_endpoint_auth_method: 'none' },
    access_token: 'CANARY-access-0',
    refresh_token: 'CANARY-refresh-0',
    scope: 'mcp',
    ...credential,
  };
  await mkdir(dirname(path), { recursive: true, mode: 0o700 });
  const contents = { version: 1, credential: login, clients: { [gateway]: login.client } };
  await writeFile(path, `${JSON.stringify(contents, null, 2)}\n`, { mode: 0o600 });
}
