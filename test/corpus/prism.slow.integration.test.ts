import { describe, expect, test } from 'vitest';

import { chooseSweepValue } from '../support/sweeps.ts';
import { testDocument } from './prism/judge.ts';

/** The seed that selects the sample of operations; `npm run corpus:prism` tests all operations. */
const seed = 2;
const samples: [name: string, every: number][] = [
  ['github', chooseSweepValue({ sampled: 60, whole: 12 })],
  ['slack', chooseSweepValue({ sampled: 12, whole: 3 })],
  ['notion', 1],
  ['gitlab', chooseSweepValue({ sampled: 24, whole: 6 })],
];

describe('Prism’s mock of an OpenAPI document', () => {
  test.for(samples)(
    'accepts the generated well-formed calls for %s, and never receives a malformed call',
    { timeout: 120_000 },
    async ([name, every]) => {
      const verdict = await testDocument(name, {
        operations: (all) => all.filter((_, at) => at % every === 0),
        callsPerOperation: 4,
        seed,
      });

      expect(verdict.operations).toBeGreaterThanOrEqual(12);
      expect(verdict.withoutArguments).toEqual([]);
      expect(verdict.rejected).toEqual([]);
      expect(verdict.malformed).toBeGreaterThan(verdict.calls);
      expect(verdict.acceptedMalformed).toEqual([]);
      expect(verdict.hitsOfMalformed).toBe(0);
    },
  );
});
