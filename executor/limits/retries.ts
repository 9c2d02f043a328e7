import { LRUCache } from 'lru-cache';

/**
 * The number of retries allowed per first attempt, which bounds the load that retries add to an
 * upstream.
 */
const retriesPerAttempt = 0.2;
/**
 * The number of additional retries that each origin may use in a window, so that even a single call
 * may be retried.
 */
const retriesAlwaysAllowed = 10;
const windowMs = 10_000;
const originsMax = 1_024;

/**
 * Limits retries for each upstream. An upstream that fails may be overloaded, and unlimited retries
 * would add to its load.
 */
export interface Retries {
  /** Counts a first attempt. */
  count(origin: string): void;
  /** Takes a retry from the origin's budget. False when the budget is used up. */
  spend(origin: string): boolean;
}

export function createRetries(): Retries {
  const budgets = new LRUCache<string, { left: number }>({
    max: originsMax,
    ttl: windowMs,
    // Makes the cache compare times at each look-up instead of using a timer.
    ttlResolution: 0,
  });
  const budgetOf = (origin: string): { left: number } => {
    const existingBudget = budgets.get(origin);
    if (existingBudget !== undefined) return existingBudget;
    const newBudget = { left: retriesAlwaysAllowed };
    budgets.set(origin, newBudget);
    return newBudget;
  };
  return {
    count(origin) {
      budgetOf(origin).left += retriesPerAttempt;
    },
    spend(origin) {
      const budget = budgetOf(origin);
      if (budget.left < 1) return false;
      budget.left -= 1;
      return true;
    },
  };
}
