import { chmod, lstat, mkdir } from 'node:fs/promises';

import { EmbeddedError } from './embedded-error.ts';

/**
 * The first of the candidates that can be a folder for programs we are going to run.
 *
 * Some candidates are below folders in which everybody may create names, such as
 * /var/tmp. So the folder counts only if it is a real folder (no link), belongs to
 * us, and nobody else may write to it; then nobody else can have put a file there.
 */
export async function openCacheDir(
  candidates: readonly string[],
  { mode }: { mode: number },
): Promise<string> {
  for (const candidate of candidates) {
    await mkdir(candidate, { recursive: true, mode }).catch(() => undefined); // checked below
    const found = await lstat(candidate).catch(() => undefined);
    if (found?.isDirectory() && found.uid === process.geteuid?.() && (found.mode & 0o022) === 0) {
      await chmod(candidate, mode); // mkdir's was cut by the umask
      return candidate;
    }
  }
  throw new EmbeddedError(`No folder for programs could be made: tried ${candidates.join(', ')}.`);
}
