import type { Deps } from '../deps.ts';
import { changeMeanings } from './domain/rule-changes.ts';
import { takeUnloggedRules } from './rule-review.sql.ts';

const batchMax = 500;

/** Logs, once, each rule whose meaning has changed through an upgrade. */
export async function logReviewedRules({ db, logger }: Pick<Deps, 'db' | 'logger'>): Promise<void> {
  for (;;) {
    const rules = await takeUnloggedRules(db, batchMax);
    for (const { change, ...rule } of rules)
      logger.warn({ ...rule, change }, changeMeanings[change]);
    if (rules.length < batchMax) return;
  }
}
