import fc from 'fast-check';
import { expect, test } from 'vitest';

import { cpuMsOf } from '../../test/support/cpu.ts';
import { compileGlob, matchesText, overlapsPattern } from './glob.ts';

const patternsOverlap = (left: string, right: string) => overlapsPattern(compileGlob(left), right);

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

test('long patterns are compared in time linear in the text', () => {
  const overlapWith = (length: number) =>
    cpuMsOf(() => patternsOverlap(`**${'a'.repeat(300)}*`, `${'a'.repeat(length)}/*/b`));
  overlapWith(40_000);
  expect(overlapWith(400_000)).toBeLessThan(40 * overlapWith(40_000));
});
