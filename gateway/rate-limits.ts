import { LRUCache } from 'lru-cache';

import { AppError } from '#errors';
import type { Caller } from './authenticate.ts';
import { fullBucket, takeToken } from './domain/token-bucket.ts';
import type { Bucket, Quota, Taken } from './domain/token-bucket.ts';

export interface RateLimited {
  /** `RateLimit` and `RateLimit-Policy` (draft-ietf-httpapi-ratelimit-headers); empty when off. */
  readonly headers: Readonly<Record<string, string>>;
  /** `rate_limited` when a quota is used up. */
  readonly refusal: AppError | null;
}

export interface RateLimits {
  ofCaller(caller: Caller): RateLimited;
  ofSignIn(address: string): RateLimited;
  ofRegistration(address: string): RateLimited;
}

interface Quotas {
  readonly identityPerMinute: number;
  readonly userPerMinute: number;
  readonly signInPerMinute: number;
  readonly registerPerHour: number;
  /** Replicas that share them. */
  readonly replicas: () => number;
  readonly now?: () => number;
}

const bucketsMax = 50_000;

/** Quotas are kept per replica: the limit divided by how many replicas live (decisions: Limits and lists). */
export function createRateLimits(quotas: Quotas): RateLimits {
  const now = quotas.now ?? (() => performance.now());
  const buckets = new LRUCache<string, Bucket>({ max: bucketsMax });

  const take = (policy: string, id: string, { requests, windowMs }: Quota): Applied | null => {
    if (requests === 0) return null;
    const share = { requests: Math.max(1, requests / quotas.replicas()), windowMs };
    const key = `${policy}:${id}`;
    let bucket = buckets.get(key);
    if (bucket === undefined) {
      bucket = fullBucket(share, now());
      buckets.set(key, bucket);
    }
    return { policy, share, ...takeToken(bucket, share, now()) };
  };

  return {
    ofCaller({ claims }) {
      return toLimited([
        take('identity', claims.identityId, perMinute(quotas.identityPerMinute)),
        take('user', claims.userId, perMinute(quotas.userPerMinute)),
      ]);
    },
    ofSignIn: (address) => toLimited([take('sign-in', address, perMinute(quotas.signInPerMinute))]),
    ofRegistration: (address) =>
      toLimited([take('registration', address, perHour(quotas.registerPerHour))]),
  };
}

const perMinute = (requests: number): Quota => ({ requests, windowMs: 60_000 });
const perHour = (requests: number): Quota => ({ requests, windowMs: 3_600_000 });

interface Applied extends Taken {
  readonly policy: string;
  readonly share: Quota;
}

function toLimited(all: readonly (Applied | null)[]): RateLimited {
  const applied = all.filter((each) => each !== null);
  if (applied.length === 0) return { headers: {}, refusal: null };
  const headers = {
    ratelimit: applied
      .map(({ policy, remaining, resetSeconds }) => `"${policy}";r=${remaining};t=${resetSeconds}`)
      .join(', '),
    'ratelimit-policy': applied
      .map(
        ({ policy, share }) =>
          `"${policy}";q=${Math.floor(share.requests)};w=${share.windowMs / 1000}`,
      )
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
