import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

import { expect } from 'vitest';

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
  /** Writes a line to stdin: text as it is, anything else as JSON-RPC. */
  readonly send: (frame: string | Readonly<Record<string, unknown>>) => void;
  /** The next line of stdout as it is; undefined at its end. */
  readonly nextLine: () => Promise<string | undefined>;
  /** The next frame; fails at the end. */
  readonly next: () => Promise<Message>;
  readonly stderr: () => string;
  /** Closes stdin and waits; answers the exit code. */
  readonly end: () => Promise<number | null>;
  readonly exited: Promise<number | null>;
}

/** Starts the real program as a process. Disposing `mcp` asserts that stdout held nothing but frames. */
export function startProgram(
  args: readonly string[],
  environment: Readonly<Record<string, string | undefined>> = {},
): Program {
  const child = spawn(process.execPath, [bin, ...args], {
    env: { PATH: process.env['PATH'], HOME: '/nonexistent', ...environment },
  });
  const lines: string[] = [];
  const unread: string[] = [];
  const waiting: ((line: string | undefined) => void)[] = [];
  let isEnded = false;
  const collect = async () => {
    for await (const line of readLines(child.stdout, 2 ** 30)) {
      const text = String(line);
      lines.push(text);
      const waiter = waiting.shift();
      if (waiter) waiter(text);
      else unread.push(text);
    }
  };
  const finish = () => {
    isEnded = true;
    for (const waiter of waiting) waiter(undefined);
  };
  // A test that stops reading is its end too.
  void collect().then(finish, finish);
  let errors = '';
  child.stderr.setEncoding('utf8').on('data', (part: string) => (errors += part));
  child.stdin.on('error', () => {}); // a program that has ended reads no more
  const exited = once(child, 'close').then(([code]) => code as number | null);

  const nextLine = () => {
    const line = unread.shift();
    if (line !== undefined || isEnded) return Promise.resolve(line);
    return new Promise<string | undefined>((resolve) => waiting.push(resolve));
  };
  return {
    child,
    nextLine,
    exited,
    send: (frame) => {
      const line = typeof frame === 'string' ? frame : JSON.stringify({ jsonrpc: '2.0', ...frame });
      child.stdin.write(`${line}\n`);
    },
    next: async () => {
      const line = await nextLine();
      if (line === undefined) throw new Error(`stdout ended. stderr: ${errors}`);
      return JSON.parse(line) as Message;
    },
    stderr: () => errors,
    end: () => {
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

/** A folder of this test's own. */
export async function makeFolder(): Promise<AsyncDisposable & { path: string }> {
  const path = await mkdtemp(join(tmpdir(), 'action-gateway-cli-'));
  return { path, [Symbol.asyncDispose]: () => rm(path, { recursive: true }) };
}

/** A login as `mcp login` would have left it. */
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
  await writeFile(path, JSON.stringify(contents), { mode: 0o600 });
}
