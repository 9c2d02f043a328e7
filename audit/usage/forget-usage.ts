import { repeat } from '#process';
import type { Deps } from '../deps.ts';
import { forgetOldUsage } from './usage.sql.ts';

const forgetEveryMs = 60 * 60_000;
const rowsPerPart = 5_000;
const partsMax = 100;

/**
 * Deletes counts that can no longer be asked for, once an hour. Every replica does so; rows that
 * another one has in hand are left to it.
 */
export function startForgettingUsage(deps: Pick<Deps, 'db' | 'logger'>): AsyncDisposable {
  const forgetting = repeat(forgetEveryMs, async () => {
    try {
      await forgetUsage(deps);
    } catch (error) {
      deps.logger.warn({ err: error }, 'old counts of calls could not be deleted yet');
    }
  });
  forgetting.wake();
  return forgetting;
}

/** Deletes in parts, each a short transaction; the next run goes on where this one ends. */
export async function forgetUsage({ db }: Pick<Deps, 'db'>): Promise<void> {
  for (let part = 0; part < partsMax; part += 1) {
    if ((await forgetOldUsage(db, { limit: rowsPerPart })) < rowsPerPart) return;
  }
}
