/** The number of requests allowed per window. */
export interface Quota {
  readonly requests: number;
  readonly windowMs: number;
}

/** The tokens that are left at a point in time. */
export interface Bucket {
  tokens: number;
  filledAtMs: number;
}

export interface TakeResult {
  readonly allowed: boolean;
  /** The number of whole requests left. */
  readonly remaining: number;
  /** Seconds until the bucket is full again. */
  readonly resetSeconds: number;
  /** Seconds until the next request is allowed; 0 if this one was. */
  readonly retryAfterSeconds: number;
}

/** Creates a full bucket. */
export function createFullBucket({ requests }: Quota, nowMs: number): Bucket {
  return { tokens: requests, filledAtMs: nowMs };
}

/** Puts a token back for a request that should not have been counted. */
export function returnToken(bucket: Bucket, { requests }: Quota): void {
  bucket.tokens = Math.min(requests, bucket.tokens + 1);
}

/**
 * Refills the bucket for the time that has passed, and takes the tokens for one request. A quota
 * that has become smaller applies at once. A request that costs more than the whole quota takes the
 * whole quota.
 */
export function takeTokens(
  bucket: Bucket,
  { requests, windowMs }: Quota,
  { nowMs, cost = 1 }: { readonly nowMs: number; readonly cost?: number },
): TakeResult {
  const neededTokens = Math.min(cost, requests);
  const tokensPerMs = requests / windowMs;
  const passedMs = Math.max(0, nowMs - bucket.filledAtMs);
  bucket.tokens = Math.min(requests, bucket.tokens + passedMs * tokensPerMs);
  bucket.filledAtMs = nowMs;
  const allowed = bucket.tokens >= neededTokens;
  if (allowed) bucket.tokens -= neededTokens;
  return {
    allowed,
    remaining: Math.floor(bucket.tokens),
    resetSeconds: Math.ceil((requests - bucket.tokens) / tokensPerMs / 1000),
    retryAfterSeconds: allowed
      ? 0
      : Math.max(1, Math.ceil((neededTokens - bucket.tokens) / tokensPerMs / 1000)),
  };
}
