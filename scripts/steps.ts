import { spawn } from 'node:child_process';
import { constants } from 'node:os';

export interface Step {
  readonly name: string;
  readonly command: string;
  readonly args: readonly string[];
}

/** What is checked without running the product; all programs are npm's, first on our path. */
export const checks: readonly Step[] = [
  { name: 'types', command: 'tsc', args: ['-p', '.'] },
  { name: 'types of the dashboard', command: 'tsc', args: ['-p', 'dashboard'] },
  { name: 'lint and boundaries', command: 'oxlint', args: [] },
  { name: 'format', command: 'oxfmt', args: ['--check', '.'] },
  { name: 'dead code', command: 'knip', args: [] },
];

/** Runs one program in the open; answers its exit code. Ctrl-C ends it, and us after it. */
export async function runStep({ command, args }: Step): Promise<number> {
  const child = spawn(command, args, { stdio: 'inherit' });
  const stop = (signal: NodeJS.Signals) => {
    child.kill(signal);
    child.once('exit', () => process.exit(128 + constants.signals[signal]));
  };
  process.on('SIGINT', stop).on('SIGTERM', stop);
  try {
    return await new Promise<number>((settle, fail) => {
      child.once('error', fail);
      child.once('exit', (code) => settle(code ?? 1));
    });
  } finally {
    process.off('SIGINT', stop).off('SIGTERM', stop);
  }
}
