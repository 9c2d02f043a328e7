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
import { join } from 'node:path';

import { EmbeddedError } from './embedded-error.ts';
import type { PostgresBinaries } from './postgres-binaries.ts';
import { runProgram } from './run-program.ts';
import type { ServerUser } from './server-process.ts';

/** Locale C: the same on every machine, and no message that we wait for is translated. */
export const postgresEnv = { PATH: '/usr/bin:/bin', LC_ALL: 'C', TZ: 'UTC' };

export const superuser = 'postgres';

/** Where a program finds the first folder that it inherits. */
export const inheritedData = '/proc/self/fd/3';

export interface ClusterOptions {
  /** Our folder: holds the cluster in `data`, and the superuser's password. */
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
const unfinished = 'unfinished-';
const initdbTimeoutMs = 120_000;

/**
 * The user that Postgres runs as, or undefined for our own: it refuses to be root.
 *
 * Root takes the owner of the data it finds, so that what an ordinary user has made
 * remains that user's.
 */
export async function chooseServerUser(home: string): Promise<ServerUser | undefined> {
  const owner = await stat(join(home, 'data')).catch(whenMissing);
  const ours = process.geteuid?.();
  if (ours === 0) return owner && owner.uid !== 0 ? { uid: owner.uid, gid: owner.gid } : nobody;
  if (owner === undefined || owner.uid === ours) return undefined;
  throw new EmbeddedError(
    `${join(home, 'data')} belongs to user ${owner.uid}, and this process runs as user ${ours}. ` +
      'Start it as the user who made it, or choose another DATA_DIR.',
  );
}

/**
 * Finds the database cluster, or creates it if there is none.
 *
 * Postgres gets its folder as an open descriptor (`-D /proc/self/fd/3`), not as a path:
 * started by root it runs as nobody, who cannot walk to a folder below a 0700 one. So
 * the data is in DATA_DIR whatever is above it, and only the folder itself is nobody's.
 *
 * Authentication is by SCRAM with a random password that our user alone can read. `peer`
 * cannot be had (root's clients are not nobody), and with `trust` whoever else runs as
 * nobody would be superuser. The socket folder's mode 0700 is the second lock.
 */
export async function openCluster(options: ClusterOptions): Promise<Cluster> {
  const dataPath = join(options.home, 'data');
  const passwordPath = join(options.home, 'password');
  await removeUnfinished(options.home);

  const version = await readFile(join(dataPath, 'PG_VERSION'), 'utf8').catch(whenMissing);
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
  const password = await readFile(passwordPath, 'utf8').catch(whenMissing);
  if (password === undefined) {
    throw new EmbeddedError(`${passwordPath} is missing. Restore it, or remove ${dataPath} too.`);
  }
  return { dataPath, password };
}

/** A cluster gets its name only when it is whole, since initdb may be killed half-way. */
async function createCluster(
  { home, binaries, user, durable }: ClusterOptions,
  password: string,
): Promise<void> {
  const folderPath = join(home, `${unfinished}${randomUUID()}`);
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
    command: join(binaries.binDir, 'initdb'),
    args: [
      '-D',
      inheritedData,
      '-U',
      superuser,
      '--pwfile=/proc/self/fd/4',
      '--auth=scram-sha-256',
      '--encoding=UTF8',
      '--no-locale',
      '--no-instructions',
      ...(durable ? [] : ['--no-sync']),
    ],
    env: postgresEnv,
    user,
    inherit: [folder.fd, passwordFile.fd],
    timeoutMs: initdbTimeoutMs,
  });
  await rm(passwordPath, remove);
  if (!outcome.ok) {
    await rm(folderPath, remove);
    throw new EmbeddedError(`Postgres could not make its data folder: initdb ${outcome.problem}`);
  }
  await rename(folderPath, join(home, 'data'));
}

async function removeUnfinished(home: string): Promise<void> {
  for (const name of await readdir(home)) {
    if (!name.startsWith(unfinished)) continue;
    // An initdb whose starter was killed may still write there: then the next start removes it.
    await rm(join(home, name), remove).catch(() => undefined);
  }
}

const remove = { recursive: true, force: true, maxRetries: 5 } as const;

function whenMissing(error: NodeJS.ErrnoException): undefined {
  if (error.code !== 'ENOENT') throw error;
}
