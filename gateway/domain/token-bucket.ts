/** So many requests in so long. */
export interface Quota {
  readonly requests: number;
  readonly windowMs: number;
}

/** How much of a quota is left, and as of when. */
export interface Bucket {
  tokens: number;
  atMs: number;
}

export interface Taken {
  readonly allowed: boolean;
  /** Whole requests left. */
  readonly remaining: number;
  /** Until the quota is whole again. */
  readonly resetSeconds: number;
  /** Until the next request will be allowed; 0 when this one was. */
  readonly retryAfterSeconds: number;
}

/** A new bucket holds the whole quota of a window. */
export function fullBucket({ requests }: Quota, nowMs: number): Bucket {
  return { tokens: requests, atMs: nowMs };
}

/** Gives back what was taken for nothing. */
export function returnToken(bucket: Bucket, { requests }: Quota): void {
  bucket.tokens = Math.min(requests, bucket.tokens + 1);
}

/**
 * Refills for the time passed and takes what a request costs, by default one token. A quota that
 * shrank since takes effect at once; what costs more than a whole quota takes all of it.
 */
export function takeTokens(
  bucket: Bucket,
  { requests, windowMs }: Quota,
  { nowMs, cost = 1 }: { readonly nowMs: number; readonly cost?: number },
): Taken {
  const needed = Math.min(cost, requests);
  const perMs = requests / windowMs;
  const passedMs = Math.max(0, nowMs - bucket.atMs);
  bucket.tokens = Math.min(requests, bucket.tokens + passedMs * perMs);
  bucket.atMs = nowMs;
  const allowed = bucket.tokens >= needed;
  if (allowed) bucket.tokens -= needed;
  return {
    allowed,
    remaining: Math.floor(bucket.tokens),
    resetSeconds: Math.ceil((requests - bucket.tokens) / perMs / 1000),
    retryAfterSeconds: allowed
      ? 0
      : Math.max(1, Math.ceil((needed - bucket.tokens) / perMs / 1000)),
  };
}
