import { describe, expect, test } from 'vitest';

import { cutText } from './cut-text.ts';

const limits = { charactersMax: 100, linesMax: 3 };

describe('a long value', () => {
  test('up to the limit is shown whole', () => {
    expect(cutText('x'.repeat(100), limits)).toEqual({
      text: 'x'.repeat(100),
      hidden: 0,
      total: 100,
    });
  });

  test('beyond the limit is truncated, with a count of what is hidden', () => {
    expect(cutText('x'.repeat(8412), limits)).toEqual({
      text: 'x'.repeat(100),
      hidden: 8312,
      total: 8412,
    });
  });

  test('with many lines is truncated after the last line shown', () => {
    const text = Array.from({ length: 30 }, (_, at) => `line ${at}`).join('\n');

    expect(cutText(text, limits).text).toBe('line 0\nline 1\nline 2');
  });

  test('is never truncated inside a letter or an emoji', () => {
    expect(cutText('👩‍💻'.repeat(150), limits)).toEqual({
      text: '👩‍💻'.repeat(100),
      hidden: 50,
      total: 150,
    });
  });

  test('is not truncated to save a few characters', () => {
    expect(cutText('x'.repeat(120), limits).hidden).toBe(0);
  });
});
