import type { PathBudget } from '#templates';
import { createCheckBudget } from './param-check.ts';
import type { CheckBudget } from './param-check.ts';

/**
 * The budget for finding the names of one request, in steps of about 10 ns each, together with the
 * budget for checking values.
 */
export interface NameBudget extends PathBudget {
  readonly checkBudget: CheckBudget;
}

const nameStepsMax = 1_000_000;

export function createNameBudget(): NameBudget {
  return { left: nameStepsMax, checkBudget: createCheckBudget() };
}
