import fc from 'fast-check';
import { describe, expect, test } from 'vitest';

import type { JsonValue } from '#contracts/vocabulary';
import { jsonBytes, shrinkJson } from './shrink-json.ts';

const issue = (number: number) => ({
  number,
  title: `Issue ${number}`,
  user: { login: 'ann', id: 7 },
  body: 'What happened, in many words. '.repeat(20),
});

describe('a value that is too large', () => {
  test('stays as it is when it fits', () => {
    const value = { a: [1, 2, { b: null }], c: 'text' };
    expect(shrinkJson(value, 100)).toEqual({
      value,
      leftOut: { items: 0, fields: 0, characters: 0, at: [] },
    });
  });

  test('a list loses its last items, whole ones', () => {
    const list = Array.from({ length: 100 }, (_, at) => issue(at));
    const { value, leftOut } = shrinkJson(list, 8_192);

    expect(value).toEqual(list.slice(0, (value as unknown[]).length));
    expect(leftOut).toMatchObject({ characters: 0, fields: 0, at: [''] });
    expect(leftOut.items).toBe(100 - (value as unknown[]).length);
    expect((value as unknown[]).length).toBeGreaterThan(8);
  });

  test('an envelope keeps what is small beside the large list', () => {
    const items = Array.from({ length: 500 }, (_, at) => issue(at));
    const { value, leftOut } = shrinkJson({ total: 500, items, next_cursor: 'abc' }, 8_192);
    const shown = value as { total: number; items: unknown[]; next_cursor: string };

    expect([shown.total, shown.next_cursor]).toEqual([500, 'abc']);
    expect(Object.keys(shown)).toEqual(['total', 'items', 'next_cursor']);
    expect(leftOut).toMatchObject({ items: 500 - shown.items.length, at: ['/items'] });
  });

  test('one large item is made smaller, down to its long texts', () => {
    const { value, leftOut } = shrinkJson([{ id: 1, log: { text: 'x'.repeat(50_000) } }], 1_000);
    const [{ id, log }] = value as [{ id: number; log: { text: string } }];

    expect(id).toBe(1);
    expect(log.text).toMatch(/^x{900,}…$/);
    expect(leftOut).toMatchObject({
      items: 0,
      characters: 50_001 - log.text.length,
      at: ['/0/log/text'],
    });
  });

  test('a text ends between characters', () => {
    for (const text of [
      '🎉'.repeat(100),
      '"\n\\'.repeat(100),
      '\u0000'.repeat(100),
      'ü'.repeat(100),
    ]) {
      for (let max = 32; max < 60; max += 1) {
        const shown = shrinkJson(text, max).value as string;
        expect(shown.endsWith('…') && text.startsWith(shown.slice(0, -1))).toBe(true);
        expect(shown.isWellFormed()).toBe(true);
        expect(jsonBytes(shown)).toBeLessThanOrEqual(max);
        expect(jsonBytes(shown)).toBeGreaterThan(max - 13);
      }
    }
  });

  test('a hundred thousand fields are no reason to show none', () => {
    const many = Object.fromEntries(Array.from({ length: 100_000 }, (_, at) => [`key${at}`, at]));
    const { value, leftOut } = shrinkJson(many, 8_192);
    const shown = Object.keys(value as object).length;

    expect(shown).toBeGreaterThan(100);
    expect(leftOut.fields).toBe(100_000 - shown);
  });

  test('whatever it is: it is JSON, fits, and everything missing is counted', () => {
    fc.assert(
      fc.property(
        fc.jsonValue({ maxDepth: 6 }),
        fc.integer({ min: 32, max: 2_000 }),
        (given, max) => {
          const original = given as JsonValue;
          const { value, leftOut } = shrinkJson(original, max);
          expect(jsonBytes(value)).toBeLessThanOrEqual(max);
          const isWhole = leftOut.items + leftOut.fields + leftOut.characters === 0;
          expect(isWhole).toBe(jsonBytes(original) <= max);
          if (isWhole) expect(value).toBe(original);
        },
      ),
      { numRuns: 2_000 },
    );
  });
});
