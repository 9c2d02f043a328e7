import fc from 'fast-check';
import { afterAll, describe, expect, test } from 'vitest';

import type { JsonValue } from '#contracts/vocabulary';
import { parsePlainFilter, createPlainBudget, runPlainFilter } from './domain/plain-filter.ts';
import { createJqPool } from './pool.ts';

const pool = createJqPool({ workers: 1, timeoutMs: 5_000 });
afterAll(() => pool[Symbol.asyncDispose]());

/** A few names for keys and for paths, so that paths often lead to a value. */
const someName = fc.constantFrom('a', 'b', 'if', 'x-y', '0', '', 'é', '__proto__');
const someLeaf = fc.oneof(
  fc.constant(null),
  fc.boolean(),
  fc.integer(),
  fc.double({ noNaN: true, noDefaultInfinity: true }),
  fc.constantFrom(0.1, 1e-7, 1e21, 123456789.125, Number.MAX_SAFE_INTEGER, -0),
  fc.string({ unit: 'binary' }).filter((text) => text.isWellFormed()),
  fc.constantFrom('', '\u007F', '"\\', '\0', '\u2028'),
);
const someDocument = fc.letrec<{ value: JsonValue }>((tie) => ({
  value: fc.oneof(
    { maxDepth: 4, withCrossShrink: true },
    someLeaf as fc.Arbitrary<JsonValue>,
    fc.array(tie('value'), { maxLength: 4 }),
    fc.dictionary(someName, tie('value'), { maxKeys: 4 }) as fc.Arbitrary<JsonValue>,
  ),
})).value;

const isIdentifier = (text: string) => /^[A-Za-z_]\w*$/.test(text);
const someStep = fc.oneof(
  someName.map((text) => (isIdentifier(text) ? `.${text}` : `["${text}"]`)),
  someName.map((text) => `."${text}"`),
  fc.integer({ min: -3, max: 3 }).map((at) => `[${at}]`),
  fc.constant('[]'),
);
const somePath = fc.array(someStep, { minLength: 1, maxLength: 4 }).map((steps) => {
  const text = steps.join('');
  return text.startsWith('.') ? text : `.${text}`;
});
const someTail = fc.constantFrom(
  '',
  '',
  '',
  ' // empty',
  '// "none"',
  ' | tostring',
  ' // empty|tostring',
);
const someFilter = fc.oneof(
  fc.tuple(somePath, someTail).map((parts) => parts.join('')),
  fc.constantFrom('"cannot be undone"', ' "é" // "x" '),
);

describe('a filter that is evaluated without jq', () => {
  test(
    'gives the same outputs as jq, and is left to jq when jq would report an error',
    { timeout: 120_000 },
    async () => {
      const counts = { answered: 0, failed: 0, left: 0 };
      await fc.assert(
        fc.asyncProperty(someFilter, someDocument, async (text, value) => {
          const plain = parsePlainFilter(text);
          expect(plain, text).toBeDefined();
          const outputs = plain && runPlainFilter(plain, value);
          const byJq = await pool.run({ filter: text, input: JSON.stringify(value) });
          if (outputs !== undefined) {
            counts.answered += 1;
            expect(byJq).toEqual({ ok: true, outputs });
          } else if (byJq.ok) {
            counts.left += 1;
            // A plain filter may be left to jq for no other reason than a number in exponent
            // notation.
            expect(JSON.stringify(value)).toMatch(/\de[+-]?\d/);
          } else counts.failed += 1;
        }),
        { numRuns: 3_000 },
      );
      expect(counts.answered).toBeGreaterThan(1_000);
      expect(counts.failed).toBeGreaterThan(100);
    },
  );

  test.each([
    '.a | length',
    '.a, .b',
    '.a?',
    '..',
    '.a //',
    '.a // 1',
    '.a // empty // "x"',
    '"\\(.a)"',
    '"a\\nb"',
    '[.a]',
    '[0]',
    '.a[1:2]',
    '.a[01]',
    '.a.',
    'a',
    '',
    '.a\u00A0',
    '.["\uD800"]',
    '.a # the rest',
  ])('cannot be %j, which is left to jq', (text) => {
    expect(parsePlainFilter(text)).toBeUndefined();
  });

  test('has the same output limit as jq', () => {
    const plain = parsePlainFilter('.[]');
    const halfOutput = 'é'.repeat(64 * 1024);
    expect(plain && runPlainFilter(plain, [halfOutput])).toEqual([JSON.stringify(halfOutput)]);
    expect(plain && runPlainFilter(plain, [halfOutput, halfOutput])).toBeUndefined();
  });

  test('is left to jq, which runs on another thread, when it would take long', () => {
    const [all, each] = ['.', '.[]'].map((text) => parsePlainFilter(text));
    const budget = createPlainBudget();
    const values = Array.from({ length: 50_000 }, () => null);
    expect(each && runPlainFilter(each, values, budget)).toHaveLength(50_000);
    expect(each && runPlainFilter(each, values, budget)).toHaveLength(50_000);
    expect(each && runPlainFilter(each, values, budget)).toBeUndefined();
    expect(all && runPlainFilter(all, ['x'.repeat(300_000)])).toBeUndefined();
    expect(all && runPlainFilter(all, { ['x'.repeat(300_000)]: 1 })).toBeUndefined();
  });

  test('is not affected by half of a surrogate pair elsewhere in the input', () => {
    const plain = parsePlainFilter('.a');
    expect(plain && runPlainFilter(plain, { a: 'shown', b: '\uD800' })).toEqual(['"shown"']);
  });
});
