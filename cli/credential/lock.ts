import { mkdir, open } from 'node:fs/promises';
import { dirname } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';

import { Refusal, reasonOf } from '../refusal.ts';

const lockWaitMsMax = 60_000;
const pollMs = 50;
const sqliteBusyCode = 5;

/**
 * Runs `work` under a lock, so that no other process of this user runs `work` for this file at the
 * same time.
 *
 * Two shims must never present the same refresh token: the server would treat the second shim as a
 * thief, and both would lose their login. The lock is SQLite's lock on an empty database beside the
 * file. Node has no other lock that works on every system and that the kernel releases when a
 * process is killed. A plain lock file would stay after a kill, and two processes could both
 * believe that they had taken it over.
 */
export async function withFileLock<T>(file: string, work: () => Promise<T>): Promise<T> {
  const path = `${file}.lock`;
  await createPrivateFile(path);
  const { DatabaseSync } = await import('node:sqlite');
  const lock = refuseOtherFiles(() => new DatabaseSync(path, { timeout: 0 }), path);
  try {
    const waitEndsAtMs = performance.now() + lockWaitMsMax;
    // A journal on disk would stay beside the file if the process were killed while taking the
    // lock.
    const takeLock = () => lock.exec('pragma journal_mode = memory; begin exclusive');
    while (!refuseOtherFiles(() => tryToTakeLock(takeLock), path)) {
      if (performance.now() > waitEndsAtMs) {
        throw new Refusal(`Another action-gateway has held ${path} for a minute: stop it first.`);
      }
      await sleep(pollMs);
    }
    return await work();
  } finally {
    lock.close();
  }
}

async function createPrivateFile(path: string): Promise<void> {
  try {
    await mkdir(dirname(path), { recursive: true, mode: 0o700 });
    await (await open(path, 'a', 0o600)).close();
  } catch (error) {
    throw new Refusal(`${path} cannot be written (${reasonOf(error)}).`, { cause: error });
  }
}

/** @throws Refusal if the file is not SQLite's. */
function refuseOtherFiles<T>(use: () => T, path: string): T {
  try {
    return use();
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    throw new Refusal(`${path} is no lock (${reason}): delete it.`, { cause: error });
  }
}

function tryToTakeLock(takeLock: () => void): boolean {
  try {
    takeLock();
    return true;
  } catch (error) {
    if ((error as { errcode?: number }).errcode === sqliteBusyCode) return false;
    throw error;
  }
}
