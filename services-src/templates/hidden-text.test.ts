import { describe, expect, test } from 'vitest';

import { toVisibleLine, toVisibleText } from './hidden-text.ts';

describe('a text from an untrusted source', () => {
  test.for<[what: string, text: string, shown: string]>([
    ['a right-to-left override', 'r\u202eevil', 'r\\u202eevil'],
    ['bidirectional isolates', '\u2066a\u2069', '\\u2066a\\u2069'],
    ['zero-width characters', 'a\u200bb\u200c\ufeff', 'a\\u200bb\\u200c\\ufeff'],
    ['a Hangul filler', 'a\u3164', 'a\\u3164'],
    ['a blank Braille pattern', 'a\u2800b', 'a\\u2800b'],
    ['private-use characters', 'a\ue000\u{100000}', 'a\\ue000\\u{100000}'],
    ['spaces other than U+0020', 'a\u2003\u3000b', 'a\\u2003\\u3000b'],
    ['tag characters', 'a\u{e0041}', 'a\\u{e0041}'],
    ['a joiner between letters', 'a\u200db', 'a\\u200db'],
    ['a variation selector after a letter', 'a\ufe0f', 'a\\ufe0f'],
    ['a line separator', 'a\u2028b', 'a\\u2028b'],
    ['a carriage return', 'a\rb', 'a\\u000db'],
    ['a lone surrogate', 'a\ud800', 'a\\ud800'],
  ])('is shown with %s escaped', ([, text, shown]) => {
    expect(toVisibleText(text)).toBe(shown);
    expect(toVisibleLine(text)).toBe(shown);
  });

  test.for(['Grüße, 世界 – שלום a\u00a0b', 'love ❤️, 👩‍💻 and 👩🏽‍🚀', 'a'])(
    'is shown with %s unchanged',
    (text) => {
      expect(toVisibleText(text)).toBe(text);
    },
  );

  test('keeps its line breaks only where line breaks are allowed', () => {
    expect(toVisibleText('a\r\n\tb')).toBe('a\n\tb');
    expect(toVisibleLine('a\n\tb')).toBe('a\\u000a\\u0009b');
  });
});
