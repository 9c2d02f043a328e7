import type { Deps } from '../deps.ts';
import { pruneEndedRules } from '../repository/rules.ts';

const batchMax = 10_000;

/** Drops what nothing can ask for any more; the next run takes the rest. */
export async function pruneRules({ db, logger }: Pick<Deps, 'db' | 'logger'>): Promise<void> {
  try {
    await pruneEndedRules(db, batchMax);
  } catch (error) {
    logger.warn({ err: error }, 'ended rules could not be pruned yet');
  }
}
