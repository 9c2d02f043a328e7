import { describe, expect, test } from 'vitest';

import { createCredentialCache } from './credential-cache.ts';

const options = { entriesMax: 10, ttlMs: 60_000 };

describe('the credential cache', () => {
  test('asks once for all who ask at the same time, and keeps the answer', async () => {
    const cache = createCredentialCache<{ n: number }>(options);
    let asked = 0;
    const load = async () => ({ n: ++asked });

    const answers = await Promise.all([cache.get('a', load), cache.get('a', load)]);

    expect(answers).toEqual([{ n: 1 }, { n: 1 }]);
    expect(await cache.get('a', load)).toEqual({ n: 1 });
    expect(await cache.get('b', load)).toEqual({ n: 2 });
  });

  test('does not keep what was looked up before it was cleared', async () => {
    const cache = createCredentialCache<{ n: number }>(options);
    const slow = Promise.withResolvers<{ n: number }>();
    const older = cache.get('a', () => slow.promise);

    cache.clear();
    const newer = await cache.get('a', async () => ({ n: 2 }));
    slow.resolve({ n: 1 });

    expect([await older, newer]).toEqual([{ n: 1 }, { n: 2 }]);
    expect(await cache.get('a', async () => ({ n: 3 }))).toEqual({ n: 2 });
  });

  test('keeps no failure', async () => {
    const cache = createCredentialCache<{ n: number }>(options);
    await expect(cache.get('a', () => Promise.reject(new Error('no')))).rejects.toThrow('no');
    expect(await cache.get('a', async () => ({ n: 1 }))).toEqual({ n: 1 });
  });
});
