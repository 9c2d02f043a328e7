import { LRUCache } from 'lru-cache';

/** Retries allowed for each request that was made anyway: what may come on top of an upstream's load. */
const share = 0.2;
/** What an origin may have beyond its share in each window, so that a single call may be retried at all. */
const floor = 10;
const windowMs = 10_000;
const originsMax = 1_024;

/** Bounds how much retries add to the load of an upstream that may be failing because of its load. */
export interface Retries {
  /** Notes a request that is made for the first time. */
  count(origin: string): void;
  /** Whether the origin may be asked once more. */
  spend(origin: string): boolean;
}

export function createRetries(): Retries {
  const budgets = new LRUCache<string, { left: number }>({
    max: originsMax,
    ttl: windowMs,
    // By the clock, not a timer for each look.
    ttlResolution: 0,
  });
  const budgetOf = (origin: string): { left: number } => {
    const known = budgets.get(origin);
    if (known !== undefined) return known;
    const fresh = { left: floor };
    budgets.set(origin, fresh);
    return fresh;
  };
  return {
    count(origin) {
      budgetOf(origin).left += share;
    },
    spend(origin) {
      const budget = budgetOf(origin);
      if (budget.left < 1) return false;
      budget.left -= 1;
      return true;
    },
  };
}
