import { chmod, lstat, mkdir } from 'node:fs/promises';

import { EmbeddedError } from './embedded-error.ts';

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
