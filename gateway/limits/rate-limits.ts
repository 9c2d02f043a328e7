import { LRUCache } from 'lru-cache';

import { addressBlock } from '#addresses';
import type { Principal } from '#contracts/vocabulary';
import { AppError } from '#errors';
import { createFullBucket, returnToken, takeTokens } from './domain/token-bucket.ts';
import type { Bucket, Quota, TakeResult } from './domain/token-bucket.ts';

/** What rate limits need to know about a caller. */
interface CountedCaller {
  readonly claims: Pick<Principal, 'identityId' | 'userId'>;
}

export interface RateLimitResult {
  /**
   * `RateLimit` and `RateLimit-Policy` (draft-ietf-httpapi-ratelimit-headers); empty if there is no
   * limit.
   */
  readonly headers: Readonly<Record<string, string>>;
  /** The error `rate_limited` if a quota is used up; otherwise null. */
  readonly refusal: AppError | null;
}

/** The size of a body. A large body costs more tokens, besides the one for its request. */
export interface BodyCost {
  readonly bytes: number;
  /** The number of JSON values in the body. */
  readonly values: number;
}

export interface RateLimits {
  /** Counts a request before its body is read. */
  countRequest(caller: CountedCaller): RateLimitResult;
  /** Charges a large body before it is processed; returns null for a body that costs nothing. */
  countBody(caller: CountedCaller, body: BodyCost): RateLimitResult | null;
  countSignIn(address: string): RateLimitResult;
  countRegistration(address: string): RateLimitResult;
  /**
   * Counts a request that needs no credential and is neither a sign-in nor a client registration.
   */
  countPublicRequest(address: string): RateLimitResult;
  /** Counts an attempt to authenticate before the credential is looked up. */
  countAttempt(address: string): Attempt;
}

/** An attempt to authenticate. It is counted as a public request unless the credential is valid. */
export interface Attempt {
  readonly refusal: AppError | null;
  /** Puts the token back into the bucket, because the attempt did not fail. */
  forgive(): void;
}

interface Quotas {
  readonly identityPerMinute: number;
  readonly userPerMinute: number;
  readonly signInPerMinute: number;
  readonly registerPerHour: number;
  readonly publicPerMinute: number;
  /** The number of replicas that share the quotas. */
  readonly replicas: () => number;
  readonly now?: () => number;
}

/**
 * The most buckets for each kind of quota. Each kind has its own cache, so that requests from many
 * addresses do not evict the buckets of authenticated callers.
 */
const bucketsMax = 50_000;
const bytesPerToken = 32_768;
const valuesPerToken = 2_000;

/**
 * Creates the rate limits of this replica: each quota is divided by the number of live replicas
 * (docs/reference/limits.md#rates).
 */
export function createRateLimits(quotas: Quotas): RateLimits {
  const nowMs = quotas.now ?? (() => performance.now());
  const createBuckets = (policy: string, { requests, windowMs }: Quota) => {
    const buckets = new LRUCache<string, Bucket>({ max: bucketsMax });
    return (id: string, cost = 1): AppliedLimit | null => {
      if (requests === 0) return null;
      const replicaShare = { requests: Math.max(1, requests / quotas.replicas()), windowMs };
      let bucket = buckets.get(id);
      if (bucket === undefined) {
        bucket = createFullBucket(replicaShare, nowMs());
        buckets.set(id, bucket);
      }
      return {
        policy,
        replicaQuota: replicaShare,
        bucket,
        ...takeTokens(bucket, replicaShare, { nowMs: nowMs(), cost }),
      };
    };
  };
  const takeFromIdentityBucket = createBuckets('identity', perMinute(quotas.identityPerMinute));
  const takeFromUserBucket = createBuckets('user', perMinute(quotas.userPerMinute));
  const takeFromSignInBucket = createBuckets('sign-in', perMinute(quotas.signInPerMinute));
  const takeFromRegistrationBucket = createBuckets('registration', perHour(quotas.registerPerHour));
  const takeFromPublicBucket = createBuckets('address', perMinute(quotas.publicPerMinute));
  const spendToken = ({ claims }: CountedCaller, cost: number) =>
    toRateLimitResult([
      takeFromIdentityBucket(claims.identityId, cost),
      takeFromUserBucket(claims.userId, cost),
    ]);

  return {
    countRequest: (caller) => spendToken(caller, 1),
    countBody(caller, { bytes, values }) {
      const cost = Math.floor(bytes / bytesPerToken + values / valuesPerToken);
      return cost === 0 ? null : spendToken(caller, cost);
    },
    countSignIn: (address) => toRateLimitResult([takeFromSignInBucket(addressBlock(address))]),
    countRegistration: (address) =>
      toRateLimitResult([takeFromRegistrationBucket(addressBlock(address))]),
    countPublicRequest: (address) =>
      toRateLimitResult([takeFromPublicBucket(addressBlock(address))]),
    countAttempt(address) {
      const limitStatus = takeFromPublicBucket(addressBlock(address));
      return {
        refusal: toRateLimitResult([limitStatus]).refusal,
        forgive: () =>
          limitStatus?.allowed && returnToken(limitStatus.bucket, limitStatus.replicaQuota),
      };
    },
  };
}

const perMinute = (requests: number): Quota => ({ requests, windowMs: 60_000 });
const perHour = (requests: number): Quota => ({ requests, windowMs: 3_600_000 });

interface AppliedLimit extends TakeResult {
  readonly policy: string;
  readonly replicaQuota: Quota;
  readonly bucket: Bucket;
}

function toRateLimitResult(limitsOrNull: readonly (AppliedLimit | null)[]): RateLimitResult {
  const appliedLimits = limitsOrNull.filter((each) => each !== null);
  if (appliedLimits.length === 0) return { headers: {}, refusal: null };
  const headers = {
    ratelimit: appliedLimits
      .map(({ policy, remaining, resetSeconds }) => `"${policy}";r=${remaining};t=${resetSeconds}`)
      .join(', '),
    'ratelimit-policy': appliedLimits
      .map(
        ({ policy, replicaQuota: share }) =>
          `"${policy}";q=${Math.floor(share.requests)};w=${share.windowMs / 1000}`,
      )
      .join(', '),
  };
  const refusingLimits = appliedLimits.filter((each) => !each.allowed);
  if (refusingLimits.length === 0) return { headers, refusal: null };
  const seconds = Math.max(...refusingLimits.map((each) => each.retryAfterSeconds));
  const refusal = new AppError(
    'rate_limited',
    `Too many requests of this ${refusingLimits[0]?.policy}; wait ${seconds} s and try again.`,
    { details: { retry_after: seconds } },
  );
  return { headers, refusal };
}
