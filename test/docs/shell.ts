import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { programEnv } from '../support/program-env.ts';

/** A shell in which a reader types the blocks of a page, one after the other. */
export interface Shell extends AsyncDisposable {
  /**
   * Runs commands. `status` is the status of the last command that failed, or 0. `output` is
   * everything that the commands printed.
   */
  run(commands: string): Promise<{ readonly status: number; readonly output: string }>;
}

/** The line that the shell prints after each block. */
const endMark = /\n@end (\d+)@\n$/;

/** Starts bash with aliases enabled, as they are for a person at a terminal. */
export async function startShell(options: {
  readonly cwd: string;
  readonly environment: Readonly<Record<string, string>>;
}): Promise<Shell> {
  const { cwd, environment } = options;
  const folder = await mkdtemp(join(tmpdir(), 'aag-shell-'));
  const file = join(folder, 'block');
  const child = spawn('bash', ['--noprofile', '--norc'], {
    cwd,
    env: { ...programEnv, ...environment },
    stdio: ['pipe', 'pipe', 'ignore'],
  });
  const ended = once(child, 'close');
  await once(child, 'spawn');
  child.stdin.write("shopt -s expand_aliases; exec 2>&1; trap 'status=$?' ERR\n");
  return {
    async run(commands) {
      let output = '';
      const statusPromise = new Promise<number>((resolve, reject) => {
        const read = (part: Buffer) => {
          output += part.toString();
          const [, status] = endMark.exec(output) ?? [];
          if (status === undefined) return;
          child.stdout.off('data', read);
          resolve(Number(status));
        };
        child.stdout.on('data', read);
        void ended.then(() => reject(new Error(`the shell has ended: ${output}`)));
      });
      await writeFile(file, `${commands}\n`);
      // The commands get no input, because they must not read the lines that the shell reads.
      child.stdin.write(`status=0\n. ${file} </dev/null\nprintf '\\n@end %d@\\n' $status\n`);
      const status = await statusPromise;
      return { status, output: output.replace(endMark, '') };
    },
    async [Symbol.asyncDispose]() {
      child.stdin.end();
      await ended;
      await rm(folder, { recursive: true });
    },
  };
}
