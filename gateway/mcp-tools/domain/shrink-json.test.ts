import fc from 'fast-check';
import { describe, expect, test } from 'vitest';

import type { JsonValue } from '#contracts/vocabulary';
import { countJsonBytes, shrinkJson } from './shrink-json.ts';

const createIssue = (number: number) => ({
  number,
  title: `Issue ${number}`,
  user: { login: 'ann', id: 7 },
  body: 'What happened, in many words. '.repeat(20),
});

describe('shrinkJson', () => {
  test('returns a value that fits unchanged', () => {
    const value = { a: [1, 2, { b: null }], c: 'text' };
    expect(shrinkJson(value, 100)).toEqual({
      value,
      leftOut: { items: 0, fields: 0, characters: 0, at: [] },
    });
  });

  test('removes whole items from the end of a list', () => {
    const list = Array.from({ length: 100 }, (_, at) => createIssue(at));
    const { value, leftOut } = shrinkJson(list, 8_192);

    expect(value).toEqual(list.slice(0, (value as unknown[]).length));
    expect(leftOut).toMatchObject({ characters: 0, fields: 0, at: [''] });
    expect(leftOut.items).toBe(100 - (value as unknown[]).length);
    expect((value as unknown[]).length).toBeGreaterThan(8);
  });

  test('keeps small fields next to a large list', () => {
    const items = Array.from({ length: 500 }, (_, at) => createIssue(at));
    const { value, leftOut } = shrinkJson({ total: 500, items, next_cursor: 'abc' }, 8_192);
    const shrunkValue = value as { total: number; items: unknown[]; next_cursor: string };

    expect([shrunkValue.total, shrunkValue.next_cursor]).toEqual([500, 'abc']);
    expect(Object.keys(shrunkValue)).toEqual(['total', 'items', 'next_cursor']);
    expect(leftOut).toMatchObject({ items: 500 - shrunkValue.items.length, at: ['/items'] });
  });

  test('shrinks a single large item, including its long texts', () => {
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

  test('cuts a text between characters, never inside one', () => {
    for (const text of [
      '🎉'.repeat(100),
      '"\n\\'.repeat(100),
      '\u0000'.repeat(100),
      'ü'.repeat(100),
    ]) {
      for (let max = 32; max < 60; max += 1) {
        const shrunkValue = shrinkJson(text, max).value as string;
        expect(shrunkValue.endsWith('…') && text.startsWith(shrunkValue.slice(0, -1))).toBe(true);
        expect(shrunkValue.isWellFormed()).toBe(true);
        expect(countJsonBytes(shrunkValue)).toBeLessThanOrEqual(max);
        expect(countJsonBytes(shrunkValue)).toBeGreaterThan(max - 13);
      }
    }
  });

  test('shows some of the fields of an object with a hundred thousand fields', () => {
    const manyMembers = Object.fromEntries(
      Array.from({ length: 100_000 }, (_, at) => [`key${at}`, at]),
    );
    const { value, leftOut } = shrinkJson(manyMembers, 8_192);
    const shrunkValue = Object.keys(value as object).length;

    expect(shrunkValue).toBeGreaterThan(100);
    expect(leftOut.fields).toBe(100_000 - shrunkValue);
  });

  test('returns valid JSON that fits, and counts what it removed, for any value', () => {
    fc.assert(
      fc.property(
        fc.jsonValue({ maxDepth: 6 }),
        fc.integer({ min: 32, max: 2_000 }),
        (given, max) => {
          const original = given as JsonValue;
          const { value, leftOut } = shrinkJson(original, max);
          expect(countJsonBytes(value)).toBeLessThanOrEqual(max);
          const isWhole = leftOut.items + leftOut.fields + leftOut.characters === 0;
          expect(isWhole).toBe(countJsonBytes(original) <= max);
          if (isWhole) expect(value).toBe(original);
        },
      ),
      { numRuns: 2_000 },
    );
  });
});
