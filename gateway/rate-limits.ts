import { LRUCache } from 'lru-cache';

import { addressBlock } from '#addresses';
import { AppError } from '#errors';
import type { Caller } from './authenticate.ts';
import { fullBucket, returnToken, takeTokens } from './domain/token-bucket.ts';
import type { Bucket, Quota, Taken } from './domain/token-bucket.ts';

export interface RateLimited {
  /** `RateLimit` and `RateLimit-Policy` (draft-ietf-httpapi-ratelimit-headers); empty when off. */
  readonly headers: Readonly<Record<string, string>>;
  /** `rate_limited` when a quota is used up. */
  readonly refusal: AppError | null;
}

/** What a request costs beside the one token that every request does, once its body is known. */
export interface BodyCost {
  readonly bytes: number;
  /** Values of its JSON. */
  readonly values: number;
}

export interface RateLimits {
  /** Every request, before its body is read. */
  ofCaller(caller: Caller): RateLimited;
  /** A body of more than common size, before anything is done with it; null for all others. */
  ofBody(caller: Caller, body: BodyCost): RateLimited | null;
  ofSignIn(address: string): RateLimited;
  ofRegistration(address: string): RateLimited;
  /** What else strangers may ask for. */
  ofPublic(address: string): RateLimited;
  /** An attempt to authenticate, before the credential is looked up. */
  ofAttempt(address: string): Attempt;
}

/** Counted with what strangers ask for, unless the credential turns out to be valid. */
export interface Attempt {
  readonly refusal: AppError | null;
  /** It was no failed attempt: takes back that it was counted. */
  forgive(): void;
}

interface Quotas {
  readonly identityPerMinute: number;
  readonly userPerMinute: number;
  readonly signInPerMinute: number;
  readonly registerPerHour: number;
  readonly publicPerMinute: number;
  /** Replicas that share them. */
  readonly replicas: () => number;
  readonly now?: () => number;
}

/** Of each kind, so that strangers from many addresses do not push out the buckets of callers. */
const bucketsMax = 50_000;
const bytesPerToken = 32_768;
const valuesPerToken = 2_000;

/** Keeps quotas per replica: the limit divided by the number of live replicas (docs/reference/limits.md#rates). */
export function createRateLimits(quotas: Quotas): RateLimits {
  const now = quotas.now ?? (() => performance.now());
  const createKind = (policy: string, { requests, windowMs }: Quota) => {
    const buckets = new LRUCache<string, Bucket>({ max: bucketsMax });
    return (id: string, cost = 1): Applied | null => {
      if (requests === 0) return null;
      const share = { requests: Math.max(1, requests / quotas.replicas()), windowMs };
      let bucket = buckets.get(id);
      if (bucket === undefined) {
        bucket = fullBucket(share, now());
        buckets.set(id, bucket);
      }
      return { policy, share, bucket, ...takeTokens(bucket, share, { nowMs: now(), cost }) };
    };
  };
  const ofIdentity = createKind('identity', perMinute(quotas.identityPerMinute));
  const ofUser = createKind('user', perMinute(quotas.userPerMinute));
  const ofSignIn = createKind('sign-in', perMinute(quotas.signInPerMinute));
  const ofRegistration = createKind('registration', perHour(quotas.registerPerHour));
  const ofPublic = createKind('address', perMinute(quotas.publicPerMinute));
  const spend = ({ claims }: Caller, cost: number) =>
    toLimited([ofIdentity(claims.identityId, cost), ofUser(claims.userId, cost)]);

  return {
    ofCaller: (caller) => spend(caller, 1),
    ofBody(caller, { bytes, values }) {
      const cost = Math.floor(bytes / bytesPerToken + values / valuesPerToken);
      return cost === 0 ? null : spend(caller, cost);
    },
    ofSignIn: (address) => toLimited([ofSignIn(addressBlock(address))]),
    ofRegistration: (address) => toLimited([ofRegistration(addressBlock(address))]),
    ofPublic: (address) => toLimited([ofPublic(addressBlock(address))]),
    ofAttempt(address) {
      const applied = ofPublic(addressBlock(address));
      return {
        refusal: toLimited([applied]).refusal,
        forgive: () => applied?.allowed && returnToken(applied.bucket, applied.share),
      };
    },
  };
}

const perMinute = (requests: number): Quota => ({ requests, windowMs: 60_000 });
const perHour = (requests: number): Quota => ({ requests, windowMs: 3_600_000 });

interface Applied extends Taken {
  readonly policy: string;
  readonly share: Quota;
  readonly bucket: Bucket;
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
