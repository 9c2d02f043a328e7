/** How often, and since when, a provider has refused to refresh a token without saying that it is dead. */
export interface RefusedRefreshes {
  /** The refusals since the last tokens were stored. */
  readonly count: number;
  /** The time since the first of them, in seconds. */
  readonly seconds: number;
}

/**
 * A token ends after this many refusals, the last of which comes this long after the first. Until
 * then the provider may be at fault: a deployment of it may refuse everybody for a while.
 */
const limits = { count: 5, seconds: 6 * 3_600 };

const retrySeconds = { first: 5, longest: 300 };

/** Whether one more refusal ends the token. */
export function isLastRefusal({ count, seconds }: RefusedRefreshes): boolean {
  return count + 1 >= limits.count && seconds >= limits.seconds;
}

/** How long to wait before the next attempt after this many refusals: twice as long after each. */
export function retrySecondsAfter(count: number): number {
  return Math.min(retrySeconds.first * 2 ** Math.min(count, 10), retrySeconds.longest);
}
