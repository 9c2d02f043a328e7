import { LRUCache } from 'lru-cache';

export interface CredentialCache<Value extends object> {
  /** The kept value, or what `load` finds; one look-up for all who ask at the same time. Failures are not kept. */
  get(key: string, load: () => Promise<Value>): Promise<Value>;
  clear(): void;
}

/**
 * Spares the hot path a query per call. What was being looked up when the cache was cleared is
 * answered but not kept, so that a revocation cannot be overtaken by an older answer.
 */
export function createCredentialCache<Value extends object>({
  entriesMax,
  ttlMs,
}: {
  entriesMax: number;
  ttlMs: number;
}): CredentialCache<Value> {
  const kept = new LRUCache<string, Value>({ max: entriesMax, ttl: ttlMs });
  let loading = new Map<string, Promise<Value>>();

  const load = async (key: string, find: () => Promise<Value>): Promise<Value> => {
    const generation = loading;
    try {
      const value = await find();
      if (generation === loading) kept.set(key, value);
      return value;
    } finally {
      generation.delete(key);
    }
  };

  return {
    async get(key, find) {
      const value = kept.get(key) ?? loading.get(key);
      if (value !== undefined) return value;
      const promise = load(key, find);
      loading.set(key, promise);
      return promise;
    },
    clear() {
      kept.clear();
      loading = new Map();
    },
  };
}
