import { randomBytes } from 'node:crypto';
import { open, readFile, rename, stat } from 'node:fs/promises';
import { join } from 'node:path';

import { EmbeddedError } from './embedded-error.ts';

/**
 * The keys and passwords of an embedded installation, 256 random bits each. A key is made at its
 * first use and kept in `DATA_DIR/keys.json`, which only its owner may read. Losing the file loses
 * the vault.
 */
export async function openKeyFile<Name extends string>(
  dataDir: string,
  names: readonly Name[],
): Promise<Record<Name, string>> {
  const path = join(dataDir, 'keys.json');
  const storedKeys = await readKeys(path);
  const missing = names.filter((name) => storedKeys[name] === undefined);
  const keys = {
    ...storedKeys,
    ...Object.fromEntries(missing.map((name) => [name, randomBytes(32).toString('base64url')])),
  };
  if (missing.length > 0) await writeKeys(path, keys);
  return keys as Record<Name, string>;
}

/** Reads the keys; the result is empty when there is no file. */
export async function readKeys(path: string): Promise<Record<string, string>> {
  const state = await stat(path).catch(() => undefined);
  if (state === undefined) return {};
  if ((state.mode & 0o077) !== 0) {
    throw new EmbeddedError(
      `${path} holds keys, but others may read it. Run: chmod 600 ${path} — and treat the keys as known to them.`,
    );
  }
  try {
    return JSON.parse(await readFile(path, 'utf8')) as Record<string, string>;
  } catch (cause) {
    throw new EmbeddedError(`${path} is not readable as JSON. Restore it from a backup.`, {
      cause,
    });
  }
}

/**
 * Writes a second file, syncs it and renames it, so that a crash leaves either the old or the new
 * file.
 */
async function writeKeys(path: string, keys: Record<string, string>): Promise<void> {
  const file = await open(`${path}.new`, 'w', 0o600);
  try {
    await file.writeFile(`${JSON.stringify(keys, null, 2)}\n`);
    await file.sync();
  } finally {
    await file.close();
  }
  await rename(`${path}.new`, path);
}
