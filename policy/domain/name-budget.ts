import type { PathBudget } from '#templates';
import { createCheckBudget } from './validate-params.ts';
import type { CheckBudget } from './validate-params.ts';

/** What finding the names of one request may take: steps of some 10 ns, and what checks of values may. */
export interface NameBudget extends PathBudget {
  readonly checks: CheckBudget;
}

const nameStepsMax = 1_000_000;

export function createNameBudget(): NameBudget {
  return { left: nameStepsMax, checks: createCheckBudget() };
}
