import { describe, expect, test } from 'vitest';

import { cutText } from './cut-text.ts';

const limits = { charactersMax: 100, linesMax: 3 };

describe('a long value', () => {
  test('is shown whole if it has at most as many characters as the limit', () => {
    expect(cutText('x'.repeat(100), limits)).toEqual({
      text: 'x'.repeat(100),
      hidden: 0,
      total: 100,
    });
  });

  test('is truncated if it is longer than the limit, with a count of the hidden characters', () => {
    expect(cutText('x'.repeat(8412), limits)).toEqual({
      text: 'x'.repeat(100),
      hidden: 8312,
      total: 8412,
    });
  });

  test('is truncated after the last allowed line if it has too many lines', () => {
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

  test('is not truncated if only a few characters would be hidden', () => {
    expect(cutText('x'.repeat(120), limits).hidden).toBe(0);
  });
});
