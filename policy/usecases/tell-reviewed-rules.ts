import type { Deps } from '../deps.ts';
import { changeMeanings } from '../domain/rule-changes.ts';
import { takeReviewed } from '../repository/rule-review.ts';

const batch = 500;

/** Says once, in the log, which rules mean something else since an upgrade. */
export async function tellReviewedRules({
  db,
  logger,
}: Pick<Deps, 'db' | 'logger'>): Promise<void> {
  for (;;) {
    const rules = await takeReviewed(db, batch);
    for (const { change, ...rule } of rules)
      logger.warn({ ...rule, change }, changeMeanings[change]);
    if (rules.length < batch) return;
  }
}
