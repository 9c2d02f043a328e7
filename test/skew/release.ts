import { execFile } from 'node:child_process';
import { cp, mkdir, readFile, symlink } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';

import { thisRelease } from '../support/deployment.ts';
import type { Release } from '../support/deployment.ts';

const runCommand = promisify(execFile);
const rootFolder = thisRelease.folder;
const baselineFile = new URL('baseline', import.meta.url);
const outputBytesMax = 1024 ** 3;

/** Copies this working tree into a new folder, including changes that are not committed. */
export async function copyTree(folder: string): Promise<void> {
  const args = ['ls-files', '-z', '--cached', '--others', '--exclude-standard'];
  const { stdout } = await runCommand('git', args, { cwd: rootFolder, maxBuffer: outputBytesMax });
  const files = stdout.split('\0').filter((file) => file !== '' && !/^(docs|test)\//.test(file));
  for (const file of files) {
    await mkdir(dirname(join(folder, file)), { recursive: true });
    // git may still list a file that was deleted, because the deletion is not committed yet.
    await cp(join(rootFolder, file), join(folder, file)).catch(ignoreMissing);
  }
  await symlink(join(rootFolder, 'node_modules'), join(folder, 'node_modules'));
}

function ignoreMissing(error: NodeJS.ErrnoException): void {
  if (error.code !== 'ENOENT') throw error;
}

/** The commit of the last release; undefined until there is one. */
export async function findBaseline(): Promise<string | undefined> {
  try {
    return (await readFile(baselineFile, 'utf8')).trim();
  } catch {
    return undefined;
  }
}

/** Extracts the last release from the git history of this clone into a new folder. */
export async function checkOutBaseline(commit: string, folder: string): Promise<Release> {
  if (!/^[0-9a-f]{40}$/.test(commit)) {
    throw new Error(`test/skew/baseline must hold the 40 digits of a commit, and holds ${commit}.`);
  }
  await runCommand('git', ['cat-file', '-e', `${commit}^{commit}`], { cwd: rootFolder }).catch(
    (cause) => {
      throw new Error(
        `The last release, ${commit} in test/skew/baseline, is not in this clone. Run: git fetch --unshallow (or git fetch origin ${commit}).`,
        { cause },
      );
    },
  );
  await mkdir(folder, { recursive: true });
  const archivePath = join(folder, 'release.tar');
  await runCommand('git', ['archive', '--output', archivePath, commit], { cwd: rootFolder });
  await runCommand('tar', ['-xf', archivePath, '-C', folder]);
  await installPackages(folder);
  return { name: 'last', folder };
}

/**
 * Uses the packages of this tree if the release has the same ones. Otherwise installs the release's
 * packages.
 */
async function installPackages(folder: string): Promise<void> {
  const [packagesOfRelease, packagesOfTree] = await Promise.all([
    readPackages(folder),
    readPackages(rootFolder),
  ]);
  if (packagesOfRelease === packagesOfTree) {
    await symlink(join(rootFolder, 'node_modules'), join(folder, 'node_modules'));
    return;
  }
  const args = ['ci', '--omit=dev', '--ignore-scripts', '--prefer-offline'];
  const quietOptions = ['--no-audit', '--no-fund', '--loglevel=error'];
  await runCommand('npm', [...args, ...quietOptions], {
    cwd: folder,
    maxBuffer: outputBytesMax,
  }).catch((cause) => {
    throw new Error(
      'The last release has other packages than this tree, and npm ci could not install them: it needs the registry, or its cache.',
      { cause },
    );
  });
}

/**
 * Reads the packages in the lockfile. Leaves out the entry of the project itself, which contains
 * its version.
 */
async function readPackages(folder: string): Promise<string> {
  const lockfile = JSON.parse(await readFile(join(folder, 'package-lock.json'), 'utf8')) as {
    packages: Record<string, object>;
  };
  const { '': _, ...packages } = lockfile.packages;
  return JSON.stringify(packages);
}
