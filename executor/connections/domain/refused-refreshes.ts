/**
 * How often, and for how long, a provider has refused to refresh a token without saying that the
 * token is invalid for good.
 */
export interface RefusedRefreshes {
  /** The number of refusals since tokens were last stored. */
  readonly count: number;
  /** The time since the first of these refusals, in seconds. */
  readonly seconds: number;
}

/**
 * A token ends after this many refusals, if the last one comes at least this long after the first.
 * Before that, the provider may be at fault: after a faulty deployment it may refuse everybody for
 * a while.
 */
const limits = { count: 5, seconds: 6 * 3_600 };

const retrySeconds = { first: 5, longest: 300 };

/** Whether one more refusal ends the token. */
export function isLastRefusal({ count, seconds }: RefusedRefreshes): boolean {
  return count + 1 >= limits.count && seconds >= limits.seconds;
}

/**
 * How long to wait before the next attempt after this many refusals. The wait doubles with each
 * refusal.
 */
export function retrySecondsAfter(count: number): number {
  return Math.min(retrySeconds.first * 2 ** Math.min(count, 10), retrySeconds.longest);
}
