import { deleteInParts } from '#database';
import type { Deps } from '../deps.ts';
import { pruneEndedRules } from './rule.sql.ts';

/** Deletes rules that have expired or were deleted, when no event can create them again. */
export async function pruneRules({ db, logger }: Pick<Deps, 'db' | 'logger'>): Promise<void> {
  try {
    await deleteInParts((limit) => pruneEndedRules(db, limit));
  } catch (error) {
    logger.warn({ err: error }, 'ended rules could not be pruned yet');
  }
}
