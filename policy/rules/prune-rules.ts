import type { Deps } from '../deps.ts';
import { pruneEndedRules } from './rule.sql.ts';

const batchMax = 10_000;

/**
 * Deletes ended rules that no event can plant again. The number per run is limited, and the next
 * run deletes further ones.
 */
export async function pruneRules({ db, logger }: Pick<Deps, 'db' | 'logger'>): Promise<void> {
  try {
    await pruneEndedRules(db, batchMax);
  } catch (error) {
    logger.warn({ err: error }, 'ended rules could not be pruned yet');
  }
}
