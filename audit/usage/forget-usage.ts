import { deleteInParts } from '#database';
import { repeat } from '#process';
import type { Deps } from '../deps.ts';
import { forgetOldUsage } from './usage.sql.ts';

const forgetEveryMs = 60 * 60_000;

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

export async function forgetUsage({ db }: Pick<Deps, 'db'>): Promise<void> {
  await deleteInParts((limit) => forgetOldUsage(db, { limit }));
}
