import { LRUCache } from 'lru-cache';

export interface Cache<Context, Value extends object> {
  /** Many who ask at once share one question. */
  get(key: string, context: Context): Promise<Value | undefined>;
  /** Drops what is known under the keys that match. Who has asked already is still answered; that answer is not kept. */
  drop(matches: (key: string) => boolean): void;
}

/**
 * What others know, for a while. Unlike the fetching of `lru-cache`, dropping does not fail the
 * callers that wait: a call must not break because somebody changed a secret at that moment.
 */
export function createCache<Context, Value extends object>({
  max,
  ttlMs,
  fetch,
}: {
  max: number;
  /** From the moment of asking; without it an answer stays until it is dropped. */
  ttlMs?: number;
  fetch: (context: Context) => Promise<Value | undefined>;
}): Cache<Context, Value> {
  const known = new LRUCache<string, Value>({
    max,
    ...(ttlMs === undefined ? {} : { ttl: ttlMs, ttlResolution: 0 }),
  });
  const asked = new Map<string, Promise<Value | undefined>>();

  const ask = async (key: string, context: Context, isCurrent: () => boolean) => {
    const start = performance.now();
    const value = await fetch(context);
    if (value !== undefined && isCurrent()) {
      known.set(key, value, ttlMs === undefined ? {} : { start });
    }
    return value;
  };

  return {
    async get(key, context) {
      const found = known.get(key) ?? asked.get(key);
      if (found !== undefined) return found;
      const asking: Promise<Value | undefined> = ask(key, context, () => asked.get(key) === asking);
      asked.set(key, asking);
      try {
        return await asking;
      } finally {
        if (asked.get(key) === asking) asked.delete(key);
      }
    },
    drop(matches) {
      for (const key of [...known.keys()]) if (matches(key)) known.delete(key);
      for (const key of [...asked.keys()]) if (matches(key)) asked.delete(key);
    },
  };
}
