import { chown, lstat, mkdir, mkdtemp, readlink, rm, symlink } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { lockDataDir } from './data-dir-lock.ts';
import type { ServerUser } from './server-process.ts';

const socketName = '.s.PGSQL.5432';
/** The most bytes of a socket's path: `sockaddr_un` has 108, including the closing zero. */
const socketPathBytesMax = 107;
const shortDirPrefix = 'action-gateway-';

export interface SocketDir extends AsyncDisposable {
  readonly path: string;
}

/**
 * Makes a new folder for Postgres's socket, which only its user (and root) can enter.
 *
 * The folder is `run` in `home`. If that path is too long for a socket, the folder is a private one
 * in the system's temporary folder, and `run` is a link to it: by the link the next start finds the
 * folder again if this process is killed.
 */
export async function openSocketDir(
  home: string,
  user: ServerUser | undefined,
): Promise<SocketDir> {
  const runPath = join(home, 'run');
  await removeSocketDir(runPath);
  const path = isShortEnough(runPath) ? runPath : await makeShortDir(runPath);
  if (path === runPath) await mkdir(runPath, { mode: 0o700 });
  if (user) await chown(path, user.uid, user.gid);
  const lock = await lockDataDir(path);
  return {
    path,
    async [Symbol.asyncDispose]() {
      await lock[Symbol.asyncDispose]();
      await removeSocketDir(runPath);
    },
  };
}

async function makeShortDir(runPath: string): Promise<string> {
  const parent =
    [tmpdir(), '/tmp'].find((dir) => isShortEnough(join(dir, `${shortDirPrefix}XXXXXX`))) ?? '/tmp';
  const path = await mkdtemp(join(parent, shortDirPrefix)); // `mkdtemp` creates the folder with mode 0700.
  await symlink(path, runPath);
  return path;
}

function isShortEnough(dir: string): boolean {
  return Buffer.byteLength(join(dir, socketName)) <= socketPathBytesMax;
}

async function removeSocketDir(runPath: string): Promise<void> {
  const linkTarget = await readlink(runPath).catch(() => undefined); // Usually `run` is not a link.
  // After a reboot the folder in /tmp may belong to another user, so a folder that cannot be
  // removed is left in place.
  if (linkTarget && (await lstat(linkTarget).catch(() => undefined))?.isDirectory()) {
    await removeUnusedDir(linkTarget).catch(() => undefined);
  }
  await rm(runPath, { recursive: true, force: true });
}

/** Removes a folder of sockets, unless a live process holds it: `run` may be a copy of its link. */
async function removeUnusedDir(linkTarget: string): Promise<void> {
  await using _lock = await lockDataDir(linkTarget, { waitMs: 0 });
  await rm(linkTarget, { recursive: true, force: true });
}
