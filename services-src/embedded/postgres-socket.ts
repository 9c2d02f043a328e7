import { chown, lstat, mkdir, mkdtemp, readlink, rm, symlink } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import type { ServerUser } from './server-process.ts';

const socketName = '.s.PGSQL.5432';
/** `sockaddr_un` holds 108 bytes, one of them the closing zero. */
const socketPathBytesMax = 107;
const shortPrefix = 'action-gateway-';

export interface SocketDir extends AsyncDisposable {
  readonly path: string;
}

/**
 * A fresh folder for Postgres's socket, which only its user (and root) can enter.
 *
 * It is `run` in our own folder, or, where that path is too long for a socket, a private
 * folder in the system's temporary one, with `run` as a link to it: by the link the next
 * start finds it again, should this one be killed.
 */
export async function openSocketDir(
  home: string,
  user: ServerUser | undefined,
): Promise<SocketDir> {
  const run = join(home, 'run');
  await removeSocketDir(run);
  const path = fits(run) ? run : await makeShort(run);
  if (path === run) await mkdir(run, { mode: 0o700 });
  if (user) await chown(path, user.uid, user.gid);
  return { path, [Symbol.asyncDispose]: () => removeSocketDir(run) };
}

async function makeShort(run: string): Promise<string> {
  const parent =
    [tmpdir(), '/tmp'].find((dir) => fits(join(dir, `${shortPrefix}XXXXXX`))) ?? '/tmp';
  const path = await mkdtemp(join(parent, shortPrefix)); // mode 0700
  await symlink(path, run);
  return path;
}

function fits(dir: string): boolean {
  return Buffer.byteLength(join(dir, socketName)) <= socketPathBytesMax;
}

async function removeSocketDir(run: string): Promise<void> {
  const target = await readlink(run).catch(() => undefined); // no link in the usual case
  // After a reboot the name in /tmp may be anybody's; a folder that we may not remove can stay.
  if (target && (await lstat(target).catch(() => undefined))?.isDirectory()) {
    await rm(target, { recursive: true, force: true }).catch(() => undefined);
  }
  await rm(run, { recursive: true, force: true });
}
