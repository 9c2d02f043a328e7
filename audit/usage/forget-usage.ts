import { deleteInParts } from '#database';
import { repeat } from '#process';
import type { Deps } from '../deps.ts';
import { forgetOldUsage } from './usage.sql.ts';

const forgetEveryMs = 60 * 60_000;

/**
 * Deletes, once an hour, counts that can no longer be requested. Every replica does so and skips
 * rows that another one has locked.
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

export async function forgetUsage({ db }: Pick<Deps, 'db'>): Promise<void> {
  await deleteInParts((limit) => forgetOldUsage(db, { limit }));
}
