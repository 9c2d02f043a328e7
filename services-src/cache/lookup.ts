import { LRUCache } from 'lru-cache';

/**
 * A bounded cache in front of a lookup in another component, at a provider or in the database. It
 * promises, for each key:
 *
 * 1. One lookup at a time: concurrent callers share it, and its failure. A lookup that takes longer
 *    than `ttlMs` serves only the callers that already wait for it.
 * 2. An answer is never used longer than `ttlMs` after its lookup *began*. So a change in the source
 *    is seen within that time.
 * 3. After `drop`, no caller gets an answer whose lookup began before the drop. Callers that already
 *    waited still get that answer: a call does not fail because something else changed meanwhile.
 * 4. Failures and `undefined` are not kept.
 *
 * At most `max` answers are kept. Running lookups are not counted: each has a caller, and the
 * number of callers is limited where requests come in.
 */
export interface LookupCache<At, Value> {
  /**
   * Answers from the cache or looks up. `at` is what to look up, and must be the same for one
   * `key`.
   */
  get(key: string, at: At): Promise<Value>;
  /** Makes a lookup even if an answer is kept, and keeps the new answer. */
  refresh(key: string, at: At): Promise<Value>;
  /** Returns a kept answer and makes no lookup. The answer then counts as used. */
  peek(key: string): NonNullable<Value> | undefined;
  /** Forgets the answers whose keys match, or all answers. */
  drop(matches?: (key: string) => boolean): void;
}

export interface LookupCacheOptions<At, Value> {
  /** The most answers to keep; the least recently used one is removed first. */
  readonly max: number;
  /**
   * How long an answer is kept, in milliseconds. Without it, an answer is kept until it is dropped
   * or there are more than `max`.
   */
  readonly ttlMs?: number;
  /** Looks up an answer. It must have a deadline, because all waiting callers depend on it. */
  readonly lookUp: (at: At) => Promise<Value>;
  /** A monotonic clock in milliseconds. */
  readonly clock?: { now(): number };
}

interface RunningLookup<Value> {
  readonly began: number;
  readonly answer: Promise<Value>;
}

export function createLookupCache<At, Value extends object | undefined>({
  max,
  ttlMs,
  lookUp,
  clock = performance,
}: LookupCacheOptions<At, Value>): LookupCache<At, Value> {
  type CachedAnswer = NonNullable<Value>;
  const cachedValues = new LRUCache<string, CachedAnswer>({
    max,
    // A resolution of 0 reads the clock each time; otherwise an answer could be kept a little too
    // long.
    ...(ttlMs === undefined ? {} : { ttl: ttlMs, ttlResolution: 0, perf: clock }),
  });
  const runningLookups = new Map<string, RunningLookup<Value>>();

  const startLookup = (key: string, lookupArguments: At): Promise<Value> => {
    const began = clock.now();
    const endLookup = (): boolean => {
      const isCurrent = runningLookups.get(key) === lookup;
      if (isCurrent) runningLookups.delete(key);
      return isCurrent;
    };
    const answer = lookUp(lookupArguments).then(
      (value) => {
        const isCurrent = endLookup();
        if (isCurrent && value !== undefined) {
          cachedValues.set(key, value, ttlMs === undefined ? {} : { start: began });
        }
        return value;
      },
      (error: unknown) => {
        endLookup();
        throw error;
      },
    );
    const lookup = { began, answer };
    runningLookups.set(key, lookup);
    return answer;
  };
  const joinLookup = (key: string): Promise<Value> | undefined => {
    const runningLookup = runningLookups.get(key);
    if (runningLookup === undefined) return undefined;
    return ttlMs === undefined || clock.now() - runningLookup.began <= ttlMs
      ? runningLookup.answer
      : undefined;
  };

  return {
    async get(key, lookupArguments) {
      return cachedValues.get(key) ?? joinLookup(key) ?? startLookup(key, lookupArguments);
    },
    async refresh(key, lookupArguments) {
      return joinLookup(key) ?? startLookup(key, lookupArguments);
    },
    peek: (key) => cachedValues.get(key),
    drop(matches) {
      if (matches === undefined) {
        cachedValues.clear();
        runningLookups.clear();
        return;
      }
      for (const key of cachedValues.keys()) if (matches(key)) cachedValues.delete(key);
      for (const key of runningLookups.keys()) if (matches(key)) runningLookups.delete(key);
    },
  };
}
