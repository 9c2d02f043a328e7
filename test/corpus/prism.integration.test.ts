import { describe, expect, test } from 'vitest';

import { judge } from './prism/judge.ts';

/** `npm run corpus:prism` judges all operations. */
const seed = 2;
const samples: [name: string, every: number][] = [
  ['github', 12],
  ['slack', 3],
  ['notion', 1],
  ['gitlab', 6],
];

describe('on the mock of its own document', () => {
  test.for(samples)(
    'calls of %s made from the schemas are taken, and malformed ones never leave',
    { timeout: 120_000 },
    async ([name, every]) => {
      const verdict = await judge(name, {
        operations: (all) => all.filter((_, at) => at % every === 0),
        callsPerOperation: 4,
        seed,
      });

      expect(verdict.operations).toBeGreaterThanOrEqual(12);
      expect(verdict.withoutArguments).toEqual([]);
      expect(verdict.rejected).toEqual([]);
      expect(verdict.malformed).toBeGreaterThan(verdict.calls);
      expect(verdict.passed).toEqual([]);
      expect(verdict.hitsOfMalformed).toBe(0);
    },
  );
});
