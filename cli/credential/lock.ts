import { mkdir, open } from 'node:fs/promises';
import { dirname } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';

import { Refusal, reasonOf } from '../refusal.ts';

const waitMs = 60_000;
const pollMs = 50;
const sqliteBusy = 5;

/**
 * Runs `work` while no other process of this user does so for the same file.
 *
 * Two shims must never present the same refresh token: the second one would count as a thief, and
 * both would lose their login. The lock is SQLite's, on an empty database beside the file: Node
 * has no other lock that works on every system and that the kernel drops when its holder is
 * killed. A file made as a lock would outlive that, and nobody could take it over without a race.
 */
export async function withFileLock<T>(file: string, work: () => Promise<T>): Promise<T> {
  const path = `${file}.lock`;
  await createPrivate(path);
  const { DatabaseSync } = await import('node:sqlite');
  const lock = new DatabaseSync(path, { timeout: 0 });
  try {
    const until = performance.now() + waitMs;
    while (!isTaken(() => lock.exec('begin exclusive'))) {
      if (performance.now() > until) {
        throw new Refusal(`Another action-gateway has held ${path} for a minute: stop it first.`);
      }
      await sleep(pollMs);
    }
    return await work();
  } finally {
    lock.close();
  }
}

async function createPrivate(path: string): Promise<void> {
  try {
    await mkdir(dirname(path), { recursive: true, mode: 0o700 });
    await (await open(path, 'a', 0o600)).close();
  } catch (error) {
    throw new Refusal(`${path} cannot be written (${reasonOf(error)}).`, { cause: error });
  }
}

function isTaken(take: () => void): boolean {
  try {
    take();
    return true;
  } catch (error) {
    if ((error as { errcode?: number }).errcode === sqliteBusy) return false;
    throw error;
  }
}
