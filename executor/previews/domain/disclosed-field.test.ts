import { describe, expect, test } from 'vitest';

import { shortenText, toDisclosedField } from './disclosed-field.ts';

describe('a disclosed field', () => {
  const entry = { label: 'Title', filter: '.x', maxChars: 5 };

  test('shows strings without quotes, other values as JSON, and null as an empty text', () => {
    expect(toDisclosedField(entry, { ok: true, outputs: ['"ab"'] }).value).toBe('ab');
    expect(toDisclosedField(entry, { ok: true, outputs: ['{"a"', '1'] }).value).toBe('{"a"\n');
    expect(toDisclosedField(entry, { ok: true, outputs: ['null'] })).toEqual({
      label: 'Title',
      value: '',
      truncated: false,
    });
  });

  test.for([[['""']], [['""', 'null']]])(
    'is "(empty)" when its filter returns %j',
    ([outputs = []]) => {
      expect(toDisclosedField({ ...entry, maxChars: null }, { ok: true, outputs }).value).toBe(
        '(empty)',
      );
    },
  );

  test('is cut between grapheme clusters, never inside one', () => {
    const familyEmoji = '👩‍👩‍👧‍👦';

    expect(
      toDisclosedField(entry, { ok: true, outputs: [JSON.stringify(familyEmoji.repeat(6))] }),
    ).toEqual({
      label: 'Title',
      value: familyEmoji.repeat(5),
      truncated: true,
    });
    expect(shortenText('é'.normalize('NFD').repeat(3), 2)).toBe('é'.normalize('NFD').repeat(2));
    expect(Buffer.byteLength(shortenText('ü'.repeat(20_000), 10_240))).toBeLessThanOrEqual(10_240);
  });

  test('contains the error of a filter that failed', () => {
    expect(toDisclosedField(entry, { ok: false, message: 'no' })).toEqual({
      label: 'Title',
      value: '',
      truncated: false,
      error: 'no',
    });
  });
});
