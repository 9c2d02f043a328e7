import { spawn } from 'node:child_process';
import { constants } from 'node:os';

export interface Step {
  readonly name: string;
  readonly command: string;
  readonly args: readonly string[];
  /** Variables that are added to the environment of this process. */
  readonly env?: Readonly<Record<string, string>>;
}

/**
 * The checks that do not run the product. Their programs come from npm packages, so the folder of
 * these programs is put first on the path.
 */
export const checkSteps: readonly Step[] = [
  { name: 'types', command: 'tsc', args: ['-p', '.'] },
  { name: 'types of the dashboard', command: 'tsc', args: ['-p', 'dashboard'] },
  { name: 'lint and boundaries', command: 'oxlint', args: [] },
  { name: 'structure', command: 'node', args: ['scripts/structure.ts'] },
  { name: 'format', command: 'oxfmt', args: ['--check', '.'] },
  { name: 'dead code', command: 'knip', args: [] },
];

/**
 * Runs one program, which writes to this process's output; returns its exit code. Ctrl-C ends the
 * program, then this process.
 */
export async function runStep({ command, args, env }: Step): Promise<number> {
  const child = spawn(command, args, { stdio: 'inherit', env: { ...process.env, ...env } });
  const passOnSignal = (signal: NodeJS.Signals) => {
    child.kill(signal);
    child.once('exit', () => process.exit(128 + constants.signals[signal]));
  };
  process.on('SIGINT', passOnSignal).on('SIGTERM', passOnSignal);
  try {
    return await new Promise<number>((settle, fail) => {
      child.once('error', fail);
      child.once('exit', (code) => settle(code ?? 1));
    });
  } finally {
    process.off('SIGINT', passOnSignal).off('SIGTERM', passOnSignal);
  }
}
