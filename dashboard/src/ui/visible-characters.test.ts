import { describe, expect, test } from 'vitest';

import { toVisibleSegments, toVisibleText } from './visible-characters.ts';

describe('text of an agent on a page', () => {
  test.each([
    ['a bidirectional override', 'a\u202Egpj.exe', 'a⟨U+202E⟩gpj.exe'],
    ['a bidirectional isolate', '\u2066x\u2069', '⟨U+2066⟩x⟨U+2069⟩'],
    ['a zero-width space', 'pay\u200Bpal', 'pay⟨U+200B⟩pal'],
    ['a zero-width joiner between letters', 'a\u200Db', 'a⟨U+200D⟩b'],
    ['a soft hyphen', 'ad\u00ADmin', 'ad⟨U+00AD⟩min'],
    ['a byte order mark', '\uFEFFx', '⟨U+FEFF⟩x'],
    ['tag characters', 'hi\u{E0068}\u{E0069}', 'hi⟨U+E0068⟩⟨U+E0069⟩'],
    ['an escape sequence of a terminal', '\u001B[31mred', '⟨ESC⟩[31mred'],
    ['a NUL', 'a\u0000b', 'a⟨NUL⟩b'],
    ['a C1 control character', 'a\u009Bb', 'a⟨U+009B⟩b'],
    ['a line separator', 'a\u2028b', 'a⟨U+2028⟩b'],
    ['a wide space', 'a\u3000b', 'a⟨U+3000⟩b'],
    ['a Hangul filler', 'a\u3164b', 'a⟨U+3164⟩b'],
    ['a blank Braille pattern', 'a\u2800b', 'a⟨U+2800⟩b'],
    ['a note that is drawn as nothing', 'a\u{1D159}b', 'a⟨U+1D159⟩b'],
    ['a lone surrogate', 'a\uD800b', 'a⟨U+D800⟩b'],
    ['a private-use character', 'a\uE000b', 'a⟨U+E000⟩b'],
    ['a variation selector after a letter', 'a\uFE0F', 'a⟨U+FE0F⟩'],
    ['a line break where only one line is shown', 'a\r\nb', 'a⟨CR⟩⟨NEW LINE⟩b'],
  ])('contains the visible name of %s instead of the character', (_, given, shown) => {
    expect(toVisibleText(given)).toBe(shown);
  });

  test.each([
    ['letters of other scripts', 'Zürich 東京 Москва שלום مرحبا हिन्दी'],
    ['a plain and a non-breaking space', 'a b\u00A0c'],
    ['emojis of several code points', '👩‍💻 ❤️ 1️⃣ 👍🏽 🏳️‍🌈'],
    ['accents that languages use', 'e\u0301\u0323 ế'],
    ['markup', '<img src=x onerror=alert(1)> **bold** [x](javascript:alert(1))'],
  ])('is unchanged if it contains only %s', (_, text) => {
    expect(toVisibleSegments(text)).toEqual([{ kind: 'text', text: text }]);
  });

  test('has one mark with a count in place of a repeated invisible character', () => {
    expect(toVisibleSegments(`a${'\u200B'.repeat(10_000)}b`)).toEqual([
      { kind: 'text', text: 'a' },
      { kind: 'mark', text: 'U+200B ×10000' },
      { kind: 'text', text: 'b' },
    ]);
  });

  test('has at most four accents on a letter, and a count of the accents that are left out', () => {
    const stackedAccents = '\u0301'.repeat(40);

    expect(toVisibleText(`Z${stackedAccents}o`)).toBe(`Z${'\u0301'.repeat(4)}⟨+36 accents⟩o`);
  });

  test('keeps line breaks and tabs if several lines are shown, with CRLF as one line break', () => {
    expect(toVisibleSegments('a\r\n\tb\nc\u202E', { multiline: true })).toEqual([
      { kind: 'text', text: 'a\n\tb\nc' },
      { kind: 'mark', text: 'U+202E' },
    ]);
  });

  test('is empty if the agent’s text is empty', () => {
    expect(toVisibleSegments('')).toEqual([]);
  });
});
