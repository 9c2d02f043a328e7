import { LRUCache } from 'lru-cache';

/**
 * A bounded cache in front of a lookup: of what another component, a provider or the database knows. It promises, for each key:
 *
 * 1. One lookup at a time: concurrent callers share it, and its failure. One that takes longer than
 *    `ttlMs` is left to those who wait for it.
 * 2. An answer is never used longer than `ttlMs` after its lookup *began*, so a change that the
 *    source already knew then is seen within that time.
 * 3. After `drop`, no caller gets an answer whose lookup began before it, and callers that waited
 *    already still get theirs: a call does not fail because something else changed meanwhile.
 * 4. Failures and `undefined` are not kept.
 *
 * At most `max` answers are kept. Lookups under way are not counted: each has a caller, and callers
 * are limited where they come in.
 */
export interface LookupCache<At, Value> {
  /** Answers from the cache or looks up. `at` says what to look up and belongs to `key` alone. */
  get(key: string, at: At): Promise<Value>;
  /** Looks up even though an answer is kept, and keeps the new one. */
  refresh(key: string, at: At): Promise<Value>;
  /** Returns a kept answer without looking up; that counts as a use of it. */
  peek(key: string): NonNullable<Value> | undefined;
  /** Forgets the keys that match, or all of them. */
  drop(matches?: (key: string) => boolean): void;
}

export interface LookupCacheOptions<At, Value> {
  /** The most answers to keep; the least recently used one goes first. */
  readonly max: number;
  /** Milliseconds. Without it an answer is kept until it is dropped or displaced. */
  readonly ttlMs?: number;
  /** Has a deadline of its own, since it serves every caller that waits. */
  readonly lookUp: (at: At) => Promise<Value>;
  /** A monotonic clock in milliseconds. */
  readonly clock?: { now(): number };
}

interface UnderWay<Value> {
  readonly began: number;
  readonly answer: Promise<Value>;
}

export function createLookupCache<At, Value extends object | undefined>({
  max,
  ttlMs,
  lookUp,
  clock = performance,
}: LookupCacheOptions<At, Value>): LookupCache<At, Value> {
  type Found = NonNullable<Value>;
  const kept = new LRUCache<string, Found>({
    max,
    // Reads the clock each time; otherwise an answer could be a timer's step older.
    ...(ttlMs === undefined ? {} : { ttl: ttlMs, ttlResolution: 0, perf: clock }),
  });
  const underWay = new Map<string, UnderWay<Value>>();

  const start = (key: string, at: At): Promise<Value> => {
    const began = clock.now();
    const end = (): boolean => {
      const isCurrent = underWay.get(key) === started;
      if (isCurrent) underWay.delete(key);
      return isCurrent;
    };
    const answer = lookUp(at).then(
      (value) => {
        const isCurrent = end();
        if (isCurrent && value !== undefined) {
          kept.set(key, value, ttlMs === undefined ? {} : { start: began });
        }
        return value;
      },
      (error: unknown) => {
        end();
        throw error;
      },
    );
    const started = { began, answer };
    underWay.set(key, started);
    return answer;
  };
  const join = (key: string): Promise<Value> | undefined => {
    const found = underWay.get(key);
    if (found === undefined) return undefined;
    return ttlMs === undefined || clock.now() - found.began <= ttlMs ? found.answer : undefined;
  };

  return {
    async get(key, at) {
      return kept.get(key) ?? join(key) ?? start(key, at);
    },
    async refresh(key, at) {
      return join(key) ?? start(key, at);
    },
    peek: (key) => kept.get(key),
    drop(matches) {
      if (matches === undefined) {
        kept.clear();
        underWay.clear();
        return;
      }
      for (const key of kept.keys()) if (matches(key)) kept.delete(key);
      for (const key of underWay.keys()) if (matches(key)) underWay.delete(key);
    },
  };
}
