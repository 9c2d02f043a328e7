import type { Deps } from '../deps.ts';
import { takeReviewed } from '../repository/rule-review.ts';
import type { ReviewedRule } from '../repository/rule-review.ts';

const BATCH = 500;

const meanings: Record<ReviewedRule['change'], string> = {
  reaches_actions:
    'This deny rule names a host or a credential: it now also refuses actions that go there or use it.',
  folds_argument:
    'This deny rule now matches its argument without regard to letter case, ".git" and blanks, and any item of a list.',
  spares_neighbours:
    'This deny rule no longer refuses what another built-in or published template lists on the same host.',
};

/** Says once, in the log, which rules mean something else since an upgrade. */
export async function tellReviewedRules({
  db,
  logger,
}: Pick<Deps, 'db' | 'logger'>): Promise<void> {
  for (;;) {
    const rules = await takeReviewed(db, BATCH);
    for (const { change, ...rule } of rules) logger.warn({ ...rule, change }, meanings[change]);
    if (rules.length < BATCH) return;
  }
}
