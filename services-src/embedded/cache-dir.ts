import { chmod, copyFile, lstat, mkdir, rename } from 'node:fs/promises';
import { join } from 'node:path';

import { EmbeddedError } from './embedded-error.ts';

/** The variables of a process. */
export type Environment = Readonly<Record<string, string | undefined>>;

/** Opens the folder in which downloaded programs are kept between runs. */
export function openProgramCache(environment: Environment): Promise<string> {
  const { XDG_CACHE_HOME: cacheHome, HOME: home } = environment;
  const candidates = [
    ...(cacheHome ? [join(cacheHome, 'agent-action-gateway')] : []),
    ...(home ? [join(home, '.cache/agent-action-gateway')] : []),
    `/var/tmp/agent-action-gateway-${process.geteuid?.()}`,
  ];
  return openCacheDir(candidates, { mode: 0o700 });
}

/**
 * Finds the first of the candidates that is a safe folder for programs that this process will run.
 *
 * Some candidates are below folders in which every user may create names, such as /var/tmp. So a
 * candidate counts only if it is a real folder (no link), belongs to this user, and no other user
 * may write to it; then no other user can have put a file into it.
 */
export async function openCacheDir(
  candidates: readonly string[],
  { mode }: { mode: number },
): Promise<string> {
  for (const candidate of candidates) {
    await mkdir(candidate, { recursive: true, mode }).catch(() => undefined); // A folder that could not be made fails the checks below.
    const stats = await lstat(candidate).catch(() => undefined);
    if (stats?.isDirectory() && stats.uid === process.geteuid?.() && (stats.mode & 0o022) === 0) {
      await chmod(candidate, mode); // Sets the mode again, because the umask may have removed rights when the folder was made.
      return candidate;
    }
  }
  throw new EmbeddedError(`No folder for programs could be made: tried ${candidates.join(', ')}.`);
}

/**
 * Moves the program to its final name in one step, because this process may be killed at any
 * moment.
 */
export async function placeProgram(from: string, to: string): Promise<void> {
  const partial = `${to}.partial`;
  await copyFile(from, partial);
  await chmod(partial, 0o755);
  await rename(partial, to);
}
