import fc from 'fast-check';
import { expect, test } from 'vitest';

import { compileGlob, matchesText } from './glob.ts';
import { patternsOverlap } from './overlap.ts';

test.for<[left: string, right: string, expected: boolean]>([
  ['sec/*', 'ops/*', false],
  ['ops/*', 'ops/*', true],
  ['*/bug', 'ops/*', true],
  ['*/bug', 'ops/task', false],
  ['ops/b*', '*/task', false],
  ['**', 'ops/*', true],
  ['a/b/c', 'a/*', false],
  ['a/b/c', '*/b/*', true],
  ['acme', '*', true],
])('%s and %s overlap: %s', ([left, right, expected]) => {
  expect(patternsOverlap(left, right)).toBe(expected);
  expect(patternsOverlap(right, left)).toBe(expected);
});

test('patterns overlap whenever one text matches both', () => {
  const text = fc.string({ unit: fc.constantFrom('a', 'b', '/'), maxLength: 5 });
  const pattern = fc.string({ unit: fc.constantFrom('a', 'b', '/', '*'), maxLength: 5 });
  const matches = (glob: string, given: string) => matchesText(compileGlob(glob), given);
  fc.assert(
    fc.property(pattern, pattern, text, (left, right, given) => {
      if (matches(left, given) && matches(right, given))
        expect(patternsOverlap(left, right)).toBe(true);
      if (!right.includes('*')) expect(patternsOverlap(left, right)).toBe(matches(left, right));
    }),
    { numRuns: 20_000 },
  );
});

test('texts that would take too long to compare count as overlapping', () => {
  const budget = { left: 100 };
  expect(patternsOverlap(`${'a'.repeat(3_000)}*`, 'b'.repeat(3_000), budget)).toBe(true);
  expect(budget.left).toBeLessThan(0);
});
