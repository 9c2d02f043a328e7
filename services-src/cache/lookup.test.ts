import fc from 'fast-check';
import { describe, expect, test } from 'vitest';

import { createLookupCache } from './lookup.ts';

const ttlMs = 100;
const max = 2;
const keys = ['a', 'b', 'c'] as const;

/** An answer that says when its lookup began. */
interface Answer {
  readonly key: string;
  readonly began: number;
  readonly drops: number;
}

interface Lookup extends Answer {
  end(outcome: 'found' | 'missing' | 'failed'): void;
}

/** The cache under test, with a clock and lookups that the test drives. */
function createWorld() {
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
    pass: (ms: number) => void (now += ms),
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
  test('keeps its promises whatever the order of calls, answers, drops and time', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 60, size: 'max' }), async (steps) => {
        const { cache, underWay, ...world } = createWorld();
        const waiting: Promise<void>[] = [];
        for (const each of steps) {
          if (each.do === 'pass') world.pass(each.ms);
          else if (each.do === 'drop') world.drop(each.key);
          else if (each.do === 'drop all') world.drop(undefined);
          else if (each.do === 'end') underWay[each.which % underWay.length]?.end(each.outcome);
          else {
            const { key } = each;
            const [askedAt, drops] = [world.now(), world.dropsOf(key)];
            const before = underWay.length;
            const asked = each.do === 'get' ? cache.get(key, key) : cache.refresh(key, key);
            const isStarted = underWay.length > before;
            // One lookup at a time since the last drop, leaving out those that take too long.
            const current = underWay.filter(
              (one) => one.key === key && one.drops === drops && askedAt - one.began <= ttlMs,
            );
            expect(current.length).toBeLessThanOrEqual(1);
            waiting.push(
              asked.then(
                (answer) => {
                  if (answer === undefined) return;
                  expect(answer.key).toBe(key);
                  // Neither older than the last drop nor than its time.
                  expect(answer.drops).toBe(drops);
                  if (isStarted) expect(answer.began).toBe(askedAt);
                  expect(askedAt - answer.began).toBeLessThanOrEqual(ttlMs);
                },
                (error: Error) => expect(error.message).toBe('the source is not available'),
              ),
            );
          }
          // The callers of a lookup that has ended go on before anything else happens.
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

  test('shares one lookup and keeps its answer', async () => {
    const { cache, underWay } = createWorld();
    const asked = [cache.get('a', 'a'), cache.get('a', 'a'), cache.get('a', 'a')];
    expect(underWay).toHaveLength(1);
    underWay[0]?.end('found');

    const [answer] = await Promise.all(asked);
    expect(await cache.get('a', 'a')).toBe(answer);
    expect(underWay).toHaveLength(0);
  });

  test('counts the age of an answer from the beginning of its lookup', async () => {
    const { cache, underWay, pass } = createWorld();
    const asked = cache.get('a', 'a');
    pass(ttlMs);
    underWay[0]?.end('found');
    await asked;
    pass(1);
    void cache.get('a', 'a');
    expect(underWay).toHaveLength(1);
  });

  test('waits for no lookup that takes longer than an answer is good for', async () => {
    const { cache, underWay, pass } = createWorld();
    const slow = cache.get('a', 'a');
    pass(ttlMs + 1);
    const later = cache.get('a', 'a');
    expect(underWay).toHaveLength(2);
    underWay[1]?.end('found');
    const newer = await later;
    underWay[0]?.end('found');

    expect((await slow)?.began).toBe(1);
    expect(await cache.get('a', 'a')).toBe(newer);
  });

  test('answers those who waited when it was dropped, and keeps nothing of it', async () => {
    const { cache, underWay, drop } = createWorld();
    const before = cache.get('a', 'a');
    drop('a');
    const after = cache.get('a', 'a');
    expect(underWay).toHaveLength(2);
    underWay[1]?.end('found');
    const newer = await after;
    underWay[0]?.end('found');

    expect(await before).not.toBe(newer);
    expect(await cache.get('a', 'a')).toBe(newer);
  });

  test.for(['missing', 'failed'] as const)(
    'looks up again after one that was %s',
    async (outcome) => {
      const { cache, underWay } = createWorld();
      const asked = [cache.get('a', 'a'), cache.get('a', 'a')].map((each) =>
        each.catch(() => 'failed'),
      );
      underWay[0]?.end(outcome);
      expect(await Promise.all(asked)).toEqual(
        Array(2).fill(outcome === 'failed' ? 'failed' : undefined),
      );
      void cache.get('a', 'a');
      expect(underWay).toHaveLength(1);
    },
  );

  test('drops only the keys that match', async () => {
    const { cache, underWay, drop } = createWorld();
    const asked = [cache.get('a', 'a'), cache.get('b', 'b')];
    while (underWay.length > 0) underWay[0]?.end('found');
    await Promise.all(asked);
    drop('a');
    expect([cache.peek('a'), cache.peek('b')?.key]).toEqual([undefined, 'b']);
  });
});
