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

export type ProgramOutcome =
  | { readonly ok: true; readonly output: string }
  | { readonly ok: false; readonly problem: string };

const outputCharactersMax = 2_000;

/**
 * Runs a program to its end. Also returns an outcome, and does not throw, when the program cannot
 * be started, fails or takes too long.
 */
export async function runProgram(program: Program): Promise<ProgramOutcome> {
  // The timeout of `spawn` is not used: when the program is missing, its timer would keep this
  // process running.
  const signal = AbortSignal.timeout(program.timeoutMs);
  const child = spawn(program.command, program.args, {
    ...program.user,
    cwd: program.cwd ?? '/',
    env: program.env,
    signal,
    killSignal: 'SIGKILL',
    stdio: ['ignore', 'pipe', 'pipe', ...(program.inherit ?? [])],
  });
  const runEnd = new Promise<string | undefined>((settle) => {
    child.once('error', (error) => settle(signal.aborted ? 'takes too long' : error.message));
    child.once('close', (code, endSignal) => {
      if (code === 0) settle(undefined);
      else settle(endSignal ? `ended by ${endSignal}` : `ended with code ${code}`);
    });
  });
  const [output, errors, failure] = await Promise.all([
    readAll(child.stdout as Readable),
    readAll(child.stderr as Readable),
    runEnd,
  ]);
  if (failure === undefined) return { ok: true, output };
  return { ok: false, problem: `${failure} ${errors.slice(-outputCharactersMax)}`.trim() };
}

/** An error of the stream is ignored, because the exit code says more. */
function readAll(stream: Readable): Promise<string> {
  return text(stream).catch(() => '');
}
