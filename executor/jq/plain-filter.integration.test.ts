import fc from 'fast-check';
import { afterAll, describe, expect, test } from 'vitest';

import type { JsonValue } from '#contracts/vocabulary';
import { parsePlainFilter, plainBudget, runPlainFilter } from '../domain/plain-filter.ts';
import { createJqPool } from './pool.ts';

const pool = createJqPool({ workers: 1, timeoutMs: 5_000 });
afterAll(() => pool[Symbol.asyncDispose]());

/** Few names, so that paths often lead somewhere. */
const name = fc.constantFrom('a', 'b', 'if', 'x-y', '0', '', 'é', '__proto__');
const leaf = fc.oneof(
  fc.constant(null),
  fc.boolean(),
  fc.integer(),
  fc.double({ noNaN: true, noDefaultInfinity: true }),
  fc.constantFrom(0.1, 1e-7, 1e21, 123456789.125, Number.MAX_SAFE_INTEGER, -0),
  fc.string({ unit: 'binary' }).filter((text) => text.isWellFormed()),
  fc.constantFrom('', '\u007F', '"\\', '\0', '\u2028'),
);
const document = fc.letrec<{ value: JsonValue }>((tie) => ({
  value: fc.oneof(
    { maxDepth: 4, withCrossShrink: true },
    leaf as fc.Arbitrary<JsonValue>,
    fc.array(tie('value'), { maxLength: 4 }),
    fc.dictionary(name, tie('value'), { maxKeys: 4 }) as fc.Arbitrary<JsonValue>,
  ),
})).value;

const isIdentifier = (text: string) => /^[A-Za-z_]\w*$/.test(text);
const step = fc.oneof(
  name.map((text) => (isIdentifier(text) ? `.${text}` : `["${text}"]`)),
  name.map((text) => `."${text}"`),
  fc.integer({ min: -3, max: 3 }).map((at) => `[${at}]`),
  fc.constant('[]'),
);
const path = fc.array(step, { minLength: 1, maxLength: 4 }).map((steps) => {
  const text = steps.join('');
  return text.startsWith('.') ? text : `.${text}`;
});
const tail = fc.constantFrom(
  '',
  '',
  '',
  ' // empty',
  '// "none"',
  ' | tostring',
  ' // empty|tostring',
);
const filter = fc.oneof(
  fc.tuple(path, tail).map((parts) => parts.join('')),
  fc.constantFrom('"cannot be undone"', ' "é" // "x" '),
);

describe('a filter that is evaluated without jq', () => {
  test(
    'gives what jq gives, and leaves to jq whatever jq refuses',
    { timeout: 120_000 },
    async () => {
      const counts = { answered: 0, failed: 0, left: 0 };
      await fc.assert(
        fc.asyncProperty(filter, document, async (text, value) => {
          const plain = parsePlainFilter(text);
          expect(plain, text).toBeDefined();
          const outputs = plain && runPlainFilter(plain, value);
          const byJq = await pool.run({ filter: text, input: JSON.stringify(value) });
          if (outputs !== undefined) {
            counts.answered += 1;
            expect(byJq).toEqual({ ok: true, outputs });
          } else if (byJq.ok) {
            counts.left += 1;
            // Only numbers are a reason to ask jq for what it can answer.
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
  ])('is not %j', (text) => {
    expect(parsePlainFilter(text)).toBeUndefined();
  });

  test('has the same limit on output as jq', () => {
    const plain = parsePlainFilter('.[]');
    const half = 'é'.repeat(64 * 1024);
    expect(plain && runPlainFilter(plain, [half])).toEqual([JSON.stringify(half)]);
    expect(plain && runPlainFilter(plain, [half, half])).toBeUndefined();
  });

  test('leaves to jq, on its own thread, what takes long', () => {
    const [all, each] = ['.', '.[]'].map((text) => parsePlainFilter(text));
    const budget = plainBudget();
    const values = Array.from({ length: 50_000 }, () => null);
    expect(each && runPlainFilter(each, values, budget)).toHaveLength(50_000);
    expect(each && runPlainFilter(each, values, budget)).toHaveLength(50_000);
    expect(each && runPlainFilter(each, values, budget)).toBeUndefined();
    expect(all && runPlainFilter(all, ['x'.repeat(300_000)])).toBeUndefined();
    expect(all && runPlainFilter(all, { ['x'.repeat(300_000)]: 1 })).toBeUndefined();
  });

  test('shows what it is asked for even if half a surrogate pair stands elsewhere', () => {
    const plain = parsePlainFilter('.a');
    expect(plain && runPlainFilter(plain, { a: 'shown', b: '\uD800' })).toEqual(['"shown"']);
  });
});
