import { LRUCache } from 'lru-cache';

import { AppError } from '#errors';
import type { Caller } from './authenticate.ts';
import { fullBucket, takeToken } from './domain/token-bucket.ts';
import type { Bucket, Taken } from './domain/token-bucket.ts';

export interface RateLimited {
  /** `RateLimit` and `RateLimit-Policy` (draft-ietf-httpapi-ratelimit-headers); empty when off. */
  readonly headers: Readonly<Record<string, string>>;
  /** `rate_limited` when a quota is used up. */
  readonly refusal: AppError | null;
}

export interface RateLimits {
  ofCaller(caller: Caller): RateLimited;
  ofSignIn(address: string): RateLimited;
}

interface Quotas {
  readonly identityPerMinute: number;
  readonly userPerMinute: number;
  readonly signInPerMinute: number;
  /** Replicas that share them. */
  readonly replicas: () => number;
  readonly now?: () => number;
}

const bucketsMax = 50_000;

/** Quotas are kept per replica: the limit divided by how many replicas live (decisions: Limits and lists). */
export function createRateLimits(quotas: Quotas): RateLimits {
  const now = quotas.now ?? (() => performance.now());
  const buckets = new LRUCache<string, Bucket>({ max: bucketsMax });

  const take = (policy: string, id: string, perMinute: number): Applied | null => {
    if (perMinute === 0) return null;
    const share = Math.max(1, perMinute / quotas.replicas());
    const key = `${policy}:${id}`;
    let bucket = buckets.get(key);
    if (bucket === undefined) {
      bucket = fullBucket(share, now());
      buckets.set(key, bucket);
    }
    return { policy, share: Math.floor(share), ...takeToken(bucket, share, now()) };
  };

  return {
    ofCaller({ claims }) {
      return toLimited([
        take('identity', claims.identityId, quotas.identityPerMinute),
        take('user', claims.userId, quotas.userPerMinute),
      ]);
    },
    ofSignIn: (address) => toLimited([take('sign-in', address, quotas.signInPerMinute)]),
  };
}

interface Applied extends Taken {
  readonly policy: string;
  readonly share: number;
}

function toLimited(all: readonly (Applied | null)[]): RateLimited {
  const applied = all.filter((each) => each !== null);
  if (applied.length === 0) return { headers: {}, refusal: null };
  const headers = {
    ratelimit: applied
      .map(({ policy, remaining, resetSeconds }) => `"${policy}";r=${remaining};t=${resetSeconds}`)
      .join(', '),
    'ratelimit-policy': applied
      .map(({ policy, share }) => `"${policy}";q=${share};w=60`)
      .join(', '),
  };
  const refusing = applied.filter((each) => !each.allowed);
  if (refusing.length === 0) return { headers, refusal: null };
  const seconds = Math.max(...refusing.map((each) => each.retryAfterSeconds));
  const refusal = new AppError(
    'rate_limited',
    `Too many requests of this ${refusing[0]?.policy}; wait ${seconds} s and try again.`,
    { details: { retry_after: seconds } },
  );
  return { headers, refusal };
}
