import { randomBytes, randomUUID } from 'node:crypto';
import {
  chown,
  mkdir,
  open,
  readFile,
  readdir,
  rename,
  rm,
  stat,
  writeFile,
} from 'node:fs/promises';
import { userInfo } from 'node:os';
import { join } from 'node:path';

import { EmbeddedError } from './embedded-error.ts';
import type { PostgresBinaries } from './postgres-binaries.ts';
import { runProgram } from './run-program.ts';
import type { ServerUser } from './server-process.ts';

/**
 * The environment of Postgres. Locale C is the same on every machine, and leaves the log lines that
 * the start waits for untranslated.
 */
export const postgresEnv = { PATH: '/usr/bin:/bin', LC_ALL: 'C', TZ: 'UTC' };

export const superuser = 'postgres';

/** The path by which a program opens the first folder descriptor that it inherits. */
export const inheritedDataPath = '/proc/self/fd/3';

export interface ClusterOptions {
  /** The folder with the cluster, in `data`, and the superuser's password. */
  readonly home: string;
  readonly binaries: PostgresBinaries;
  readonly user: ServerUser | undefined;
  readonly durable: boolean;
}

export interface Cluster {
  readonly dataPath: string;
  readonly password: string;
}

const nobody: ServerUser = { uid: 65_534, gid: 65_534 };
const unfinishedPrefix = 'unfinished-';
const initdbTimeoutMs = 120_000;

/**
 * Chooses the user that runs Postgres; undefined means the present user. Postgres refuses to run as
 * root.
 *
 * When the present user is root, the owner of existing data is chosen, so that a cluster made by an
 * ordinary user remains that user's.
 */
export async function chooseServerUser(home: string): Promise<ServerUser | undefined> {
  const owner = await stat(join(home, 'data')).catch(undefinedWhenMissing);
  const ownUid = process.geteuid?.();
  if (ownUid === 0) return owner && owner.uid !== 0 ? { uid: owner.uid, gid: owner.gid } : nobody;
  if (owner === undefined || owner.uid === ownUid) return undefined;
  throw new EmbeddedError(
    `${join(home, 'data')} belongs to user ${owner.uid}, and this process runs as user ${ownUid}. ` +
      'Start it as the user who made it, or choose another DATA_DIR.',
  );
}

/**
 * Finds the database cluster, or creates it if there is none.
 *
 * Postgres gets its folder as an open descriptor (`-D /proc/self/fd/3`), not as a path: when root
 * starts Postgres, it runs as the user `nobody`, who cannot enter a folder below a 0700 one. So the
 * data can be in any DATA_DIR, and only the cluster's folder itself belongs to `nobody`.
 *
 * Authentication is by SCRAM with a random password that only the present user can read. `peer` is
 * not possible (root's clients are not `nobody`), and with `trust` every other process of `nobody`
 * would be superuser. The socket folder's mode 0700 is a second barrier.
 */
export async function openCluster(options: ClusterOptions): Promise<Cluster> {
  const dataPath = join(options.home, 'data');
  const passwordPath = join(options.home, 'password');
  await removeUnfinished(options.home);

  const version = await readFile(join(dataPath, 'PG_VERSION'), 'utf8').catch(undefinedWhenMissing);
  if (version === undefined) {
    const password = randomBytes(24).toString('base64url');
    await writeFile(passwordPath, password, { mode: 0o600 });
    await createCluster(options, password);
    return { dataPath, password };
  }
  if (version.trim() !== options.binaries.majorVersion) {
    throw new EmbeddedError(
      `${dataPath} was written by Postgres ${version.trim()}, and this release brings Postgres ` +
        `${options.binaries.majorVersion}. Dump it with the release that wrote it, and restore.`,
    );
  }
  const password = await readFile(passwordPath, 'utf8').catch(undefinedWhenMissing);
  if (password === undefined) {
    throw new EmbeddedError(`${passwordPath} is missing. Restore it, or remove ${dataPath} too.`);
  }
  return { dataPath, password };
}

/**
 * Creates the cluster and gives it its final name only when it is complete, because initdb may be
 * killed at any moment.
 */
async function createCluster(
  { home, binaries, user, durable }: ClusterOptions,
  password: string,
): Promise<void> {
  const folderPath = join(home, `${unfinishedPrefix}${randomUUID()}`);
  const passwordPath = `${folderPath}-password`;
  await mkdir(folderPath, { mode: 0o700 });
  await writeFile(passwordPath, password, { mode: 0o600 });
  if (user) {
    await chown(folderPath, user.uid, user.gid);
    await chown(passwordPath, user.uid, user.gid);
  }

  await using folder = await open(folderPath);
  await using passwordFile = await open(passwordPath);
  const outcome = await runProgram({
    ...initdbOf(binaries, [
      '-D',
      inheritedDataPath,
      '-U',
      superuser,
      '--pwfile=/proc/self/fd/4',
      '--auth=scram-sha-256',
      '--encoding=UTF8',
      '--no-locale',
      '--no-instructions',
      ...(durable ? [] : ['--no-sync']),
    ]),
    env: postgresEnv,
    user,
    inherit: [folder.fd, passwordFile.fd],
    timeoutMs: initdbTimeoutMs,
  });
  await rm(passwordPath, removeOptions);
  if (!outcome.ok) {
    await rm(folderPath, removeOptions);
    throw new EmbeddedError(`Postgres could not make its data folder: initdb ${outcome.problem}`);
  }
  await rename(folderPath, join(home, 'data'));
}

/** The command of initdb, which refuses to run for a user id that has no name (in /etc/passwd). */
function initdbOf({ binDir }: PostgresBinaries, args: readonly string[]) {
  const initdb = join(binDir, 'initdb');
  if (hasName()) return { command: initdb, args };
  // In a user namespace of its own it runs as `nobody`. What it writes belongs to the present user.
  const mapping = ['--user', `--map-user=${nobody.uid}`, `--map-group=${nobody.gid}`];
  return { command: 'unshare', args: [...mapping, '--', initdb, ...args] };
}

function hasName(): boolean {
  try {
    userInfo();
    return true;
  } catch {
    return false;
  }
}

/**
 * Refuses to begin where initdb could not make the cluster that is missing in `home`, because the
 * present user id has no name and user namespaces are not allowed. Creates nothing.
 */
export async function checkCanCreateCluster(
  home: string,
  findBinaries: () => Promise<PostgresBinaries>,
): Promise<void> {
  if (hasName()) return;
  const version = await stat(join(home, 'data', 'PG_VERSION')).catch(() => undefined);
  if (version !== undefined) return;
  const outcome = await runProgram({
    ...initdbOf(await findBinaries(), ['--show', '-D', '/nonexistent', '-U', superuser]),
    env: postgresEnv,
    timeoutMs: initdbTimeoutMs,
  });
  if (outcome.ok) return;
  const [uid, gid] = [process.geteuid?.(), process.getegid?.()];
  throw new EmbeddedError(
    `User ${uid} has no name on this machine, and Postgres makes no data folder without one. ` +
      `Add the line gateway:x:${uid}:${gid}::/:/usr/sbin/nologin to /etc/passwd, start as a user that is listed there, ` +
      'or set DATABASE_URL to a Postgres 15 or newer.',
  );
}

async function removeUnfinished(home: string): Promise<void> {
  for (const name of await readdir(home)) {
    if (!name.startsWith(unfinishedPrefix)) continue;
    // An initdb whose starter was killed may still write into the folder; the next start then
    // removes it.
    await rm(join(home, name), removeOptions).catch(() => undefined);
  }
}

const removeOptions = { recursive: true, force: true, maxRetries: 5 } as const;

function undefinedWhenMissing(error: NodeJS.ErrnoException): undefined {
  if (error.code !== 'ENOENT') throw error;
}
