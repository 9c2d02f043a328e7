import fc from 'fast-check';
import { describe, expect, test } from 'vitest';

import { createLookupCache } from './lookup.ts';

const ttlMs = 100;
const max = 2;
const keys = ['a', 'b', 'c'] as const;

/** An answer, with the time at which its lookup began. */
interface Answer {
  readonly key: string;
  readonly began: number;
  readonly drops: number;
}

interface Lookup extends Answer {
  end(outcome: 'found' | 'missing' | 'failed'): void;
}

/** The cache under test. The test controls its clock and its lookups. */
function createTestCache() {
  let now = 1;
  const underWay: Lookup[] = [];
  const drops = new Map<string, number>(keys.map((key) => [key, 0]));
  const cache = createLookupCache<string, Answer | undefined>({
    max,
    ttlMs,
    clock: { now: () => now },
    lookUp(key) {
      const { promise, resolve, reject } = Promise.withResolvers<Answer | undefined>();
      const answer = { key, began: now, drops: drops.get(key) ?? 0 };
      const lookup: Lookup = {
        ...answer,
        end(outcome) {
          underWay.splice(underWay.indexOf(lookup), 1);
          if (outcome === 'failed') reject(new Error('the source is not available'));
          else resolve(outcome === 'found' ? answer : undefined);
        },
      };
      underWay.push(lookup);
      return promise;
    },
  });
  return {
    cache,
    underWay,
    now: () => now,
    passTime: (ms: number) => void (now += ms),
    dropsOf: (key: string) => drops.get(key) ?? 0,
    drop: (key: string | undefined) => {
      for (const each of keys) {
        if (key === undefined || each === key) drops.set(each, (drops.get(each) ?? 0) + 1);
      }
      cache.drop(key === undefined ? undefined : (each) => each === key);
    },
  };
}

const step = fc.oneof(
  { weight: 6, arbitrary: fc.record({ do: fc.constant('get'), key: fc.constantFrom(...keys) }) },
  {
    weight: 1,
    arbitrary: fc.record({ do: fc.constant('refresh'), key: fc.constantFrom(...keys) }),
  },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('drop'), key: fc.constantFrom(...keys) }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('drop all') }) },
  { weight: 3, arbitrary: fc.record({ do: fc.constant('pass'), ms: fc.nat(ttlMs) }) },
  {
    weight: 5,
    arbitrary: fc.record({
      do: fc.constant('end'),
      which: fc.nat(5),
      outcome: fc.constantFrom('found', 'missing', 'failed'),
    }),
  },
) as fc.Arbitrary<
  | { do: 'get' | 'refresh' | 'drop'; key: string }
  | { do: 'drop all' }
  | { do: 'pass'; ms: number }
  | { do: 'end'; which: number; outcome: 'found' | 'missing' | 'failed' }
>;

describe('a lookup cache', () => {
  test('behaves as documented in every order of calls, answers, dropped keys and passing time', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 60, size: 'max' }), async (steps) => {
        const { cache, underWay, ...world } = createTestCache();
        const waiting: Promise<void>[] = [];
        for (const each of steps) {
          if (each.do === 'pass') world.passTime(each.ms);
          else if (each.do === 'drop') world.drop(each.key);
          else if (each.do === 'drop all') world.drop(undefined);
          else if (each.do === 'end') underWay[each.which % underWay.length]?.end(each.outcome);
          else {
            const { key } = each;
            const [askedAt, drops] = [world.now(), world.dropsOf(key)];
            const before = underWay.length;
            const pendingValue = each.do === 'get' ? cache.get(key, key) : cache.refresh(key, key);
            const isStarted = underWay.length > before;
            // Only one lookup at a time may run since the last drop, not counting lookups that take
            // too long.
            const currentLookups = underWay.filter(
              (lookup) =>
                lookup.key === key && lookup.drops === drops && askedAt - lookup.began <= ttlMs,
            );
            expect(currentLookups.length).toBeLessThanOrEqual(1);
            waiting.push(
              pendingValue.then(
                (answer) => {
                  if (answer === undefined) return;
                  expect(answer.key).toBe(key);
                  // The answer's lookup began neither before the last drop nor longer than the ttl
                  // ago.
                  expect(answer.drops).toBe(drops);
                  if (isStarted) expect(answer.began).toBe(askedAt);
                  expect(askedAt - answer.began).toBeLessThanOrEqual(ttlMs);
                },
                (error: Error) => expect(error.message).toBe('the source is not available'),
              ),
            );
          }
          // Lets the callers of a finished lookup continue before the next step.
          await new Promise((resolve) => setImmediate(resolve));
          expect(keys.filter((key) => cache.peek(key) !== undefined).length).toBeLessThanOrEqual(
            max,
          );
        }
        while (underWay.length > 0) underWay[0]?.end('found');
        await Promise.all(waiting);
      }),
      { numRuns: 300 },
    );
  });

  test('makes one lookup for concurrent callers, and keeps the answer', async () => {
    const { cache, underWay } = createTestCache();
    const pendingValue = [cache.get('a', 'a'), cache.get('a', 'a'), cache.get('a', 'a')];
    expect(underWay).toHaveLength(1);
    underWay[0]?.end('found');

    const [answer] = await Promise.all(pendingValue);
    expect(await cache.get('a', 'a')).toBe(answer);
    expect(underWay).toHaveLength(0);
  });

  test('counts the age of an answer from the beginning of its lookup', async () => {
    const { cache, underWay, passTime } = createTestCache();
    const pendingValue = cache.get('a', 'a');
    passTime(ttlMs);
    underWay[0]?.end('found');
    await pendingValue;
    passTime(1);
    void cache.get('a', 'a');
    expect(underWay).toHaveLength(1);
  });

  test('starts a new lookup when the running one takes longer than the ttl', async () => {
    const { cache, underWay, passTime } = createTestCache();
    const slow = cache.get('a', 'a');
    passTime(ttlMs + 1);
    const laterValue = cache.get('a', 'a');
    expect(underWay).toHaveLength(2);
    underWay[1]?.end('found');
    const newer = await laterValue;
    underWay[0]?.end('found');

    expect((await slow)?.began).toBe(1);
    expect(await cache.get('a', 'a')).toBe(newer);
  });

  test('answers the callers that already waited when their key was dropped, and does not keep that answer', async () => {
    const { cache, underWay, drop } = createTestCache();
    const before = cache.get('a', 'a');
    drop('a');
    const answerAfterDrop = cache.get('a', 'a');
    expect(underWay).toHaveLength(2);
    underWay[1]?.end('found');
    const newer = await answerAfterDrop;
    underWay[0]?.end('found');

    expect(await before).not.toBe(newer);
    expect(await cache.get('a', 'a')).toBe(newer);
  });

  test.for(['missing', 'failed'] as const)(
    'does not keep the outcome of a lookup that ended as "%s"',
    async (outcome) => {
      const { cache, underWay } = createTestCache();
      const pendingValue = [cache.get('a', 'a'), cache.get('a', 'a')].map((each) =>
        each.catch(() => 'failed'),
      );
      underWay[0]?.end(outcome);
      expect(await Promise.all(pendingValue)).toEqual(
        Array(2).fill(outcome === 'failed' ? 'failed' : undefined),
      );
      void cache.get('a', 'a');
      expect(underWay).toHaveLength(1);
    },
  );

  test('drops only the keys that match', async () => {
    const { cache, underWay, drop } = createTestCache();
    const pendingValue = [cache.get('a', 'a'), cache.get('b', 'b')];
    while (underWay.length > 0) underWay[0]?.end('found');
    await Promise.all(pendingValue);
    drop('a');
    expect([cache.peek('a'), cache.peek('b')?.key]).toEqual([undefined, 'b']);
  });
});
