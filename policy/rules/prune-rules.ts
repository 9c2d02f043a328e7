import { deleteInParts } from '#database';
import type { Deps } from '../deps.ts';
import { pruneEndedRules } from './rule.sql.ts';

/** Deletes ended rules that no event can plant again. */
export async function pruneRules({ db, logger }: Pick<Deps, 'db' | 'logger'>): Promise<void> {
  try {
    await deleteInParts((limit) => pruneEndedRules(db, limit));
  } catch (error) {
    logger.warn({ err: error }, 'ended rules could not be pruned yet');
  }
}
