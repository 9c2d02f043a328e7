import { describe, expect, test } from 'vitest';

import { visibleLine, visibleText } from './hidden-text.ts';

describe('a text of somebody else', () => {
  test.for<[what: string, text: string, shown: string]>([
    ['an override', 'r\u202eevil', 'r\\u202eevil'],
    ['isolates', '\u2066a\u2069', '\\u2066a\\u2069'],
    ['zero width', 'a\u200bb\u200c\ufeff', 'a\\u200bb\\u200c\\ufeff'],
    ['a filler', 'a\u3164', 'a\\u3164'],
    ['a blank Braille pattern', 'a\u2800b', 'a\\u2800b'],
    ['private use', 'a\ue000\u{100000}', 'a\\ue000\\u{100000}'],
    ['spaces that are no plain ones', 'a\u2003\u3000b', 'a\\u2003\\u3000b'],
    ['tags', 'a\u{e0041}', 'a\\u{e0041}'],
    ['a joiner between letters', 'a\u200db', 'a\\u200db'],
    ['a selector after a letter', 'a\ufe0f', 'a\\ufe0f'],
    ['a line separator', 'a\u2028b', 'a\\u2028b'],
    ['a carriage return', 'a\rb', 'a\\u000db'],
    ['half a character', 'a\ud800', 'a\\ud800'],
  ])('spells out %s', ([, text, shown]) => {
    expect(visibleText(text)).toBe(shown);
    expect(visibleLine(text)).toBe(shown);
  });

  test.for(['Grüße, 世界 – שלום a\u00a0b', 'love ❤️, 👩‍💻 and 👩🏽‍🚀', 'a'])('leaves %s', (text) => {
    expect(visibleText(text)).toBe(text);
  });

  test('keeps its lines only where there may be some', () => {
    expect(visibleText('a\r\n\tb')).toBe('a\n\tb');
    expect(visibleLine('a\n\tb')).toBe('a\\u000a\\u0009b');
  });
});
