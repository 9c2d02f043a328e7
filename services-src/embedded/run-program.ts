import { spawn } from 'node:child_process';
import { text } from 'node:stream/consumers';
import type { Readable } from 'node:stream';

import type { ServerUser } from './server-process.ts';

export interface Program {
  readonly command: string;
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  readonly timeoutMs: number;
  readonly cwd?: string;
  readonly user?: ServerUser | undefined;
  /** Open files that the program inherits as its descriptors 3, 4, and so on. */
  readonly inherit?: readonly number[];
}

export type Outcome =
  | { readonly ok: true; readonly output: string }
  | { readonly ok: false; readonly problem: string };

const outputKept = 2_000;

/** Runs a program that ends by itself; that it cannot be run, fails or takes too long is a value. */
export async function runProgram(program: Program): Promise<Outcome> {
  // Not spawn's own timeout: its timer holds up the process for that long if the program is missing.
  const signal = AbortSignal.timeout(program.timeoutMs);
  const child = spawn(program.command, program.args, {
    ...program.user,
    cwd: program.cwd ?? '/',
    env: program.env,
    signal,
    killSignal: 'SIGKILL',
    stdio: ['ignore', 'pipe', 'pipe', ...(program.inherit ?? [])],
  });
  const ended = new Promise<string | undefined>((settle) => {
    child.once('error', (error) => settle(signal.aborted ? 'takes too long' : error.message));
    child.once('close', (code, endedBy) => {
      if (code === 0) settle(undefined);
      else settle(endedBy ? `ended by ${endedBy}` : `ended with code ${code}`);
    });
  });
  const [output, errors, failure] = await Promise.all([
    readAll(child.stdout as Readable),
    readAll(child.stderr as Readable),
    ended,
  ]);
  if (failure === undefined) return { ok: true, output };
  return { ok: false, problem: `${failure} ${errors.slice(-outputKept)}`.trim() };
}

/** A stream that breaks off says less than the exit code that comes with it. */
function readAll(stream: Readable): Promise<string> {
  return text(stream).catch(() => '');
}
