import { describe, expect, test } from 'vitest';

import { visibleSegments, visibleText } from './visible-characters.ts';

describe('text of an agent', () => {
  test.each([
    ['bidirectional override', 'a\u202Egpj.exe', 'a⟨U+202E⟩gpj.exe'],
    ['bidirectional isolate', '\u2066x\u2069', '⟨U+2066⟩x⟨U+2069⟩'],
    ['zero-width space', 'pay\u200Bpal', 'pay⟨U+200B⟩pal'],
    ['zero-width joiner between letters', 'a\u200Db', 'a⟨U+200D⟩b'],
    ['soft hyphen', 'ad\u00ADmin', 'ad⟨U+00AD⟩min'],
    ['byte order mark', '\uFEFFx', '⟨U+FEFF⟩x'],
    ['tag characters', 'hi\u{E0068}\u{E0069}', 'hi⟨U+E0068⟩⟨U+E0069⟩'],
    ['escape sequence of a terminal', '\u001B[31mred', '⟨ESC⟩[31mred'],
    ['NUL', 'a\u0000b', 'a⟨NUL⟩b'],
    ['C1 control', 'a\u009Bb', 'a⟨U+009B⟩b'],
    ['line separator', 'a\u2028b', 'a⟨U+2028⟩b'],
    ['wide space', 'a\u3000b', 'a⟨U+3000⟩b'],
    ['Hangul filler', 'a\u3164b', 'a⟨U+3164⟩b'],
    ['blank Braille pattern', 'a\u2800b', 'a⟨U+2800⟩b'],
    ['lone surrogate', 'a\uD800b', 'a⟨U+D800⟩b'],
    ['private use', 'a\uE000b', 'a⟨U+E000⟩b'],
    ['variation selector after a letter', 'a\uFE0F', 'a⟨U+FE0F⟩'],
    ['line break where one line is shown', 'a\r\nb', 'a⟨CR⟩⟨NEW LINE⟩b'],
  ])('%s is named', (_, given, shown) => {
    expect(visibleText(given)).toBe(shown);
  });

  test.each([
    ['letters of other scripts', 'Zürich 東京 Москва שלום مرحبا हिन्दी'],
    ['a plain and a non-breaking space', 'a b\u00A0c'],
    ['an emoji of several', '👩‍💻 ❤️ 1️⃣ 👍🏽 🏳️‍🌈'],
    ['accents that languages use', 'e\u0301\u0323 ế'],
    ['markup', '<img src=x onerror=alert(1)> **bold** [x](javascript:alert(1))'],
  ])('%s stays as it is', (_, given) => {
    expect(visibleSegments(given)).toEqual([{ kind: 'text', text: given }]);
  });

  test('a run of the same character is one mark with its count', () => {
    expect(visibleSegments(`a${'\u200B'.repeat(10_000)}b`)).toEqual([
      { kind: 'text', text: 'a' },
      { kind: 'mark', text: 'U+200B ×10000' },
      { kind: 'text', text: 'b' },
    ]);
  });

  test('a pile of accents keeps four of them', () => {
    const pile = '\u0301'.repeat(40);

    expect(visibleText(`Z${pile}o`)).toBe(`Z${'\u0301'.repeat(4)}⟨+36 accents⟩o`);
  });

  test('where several lines are shown, breaks and tabs stay and CRLF is one break', () => {
    expect(visibleSegments('a\r\n\tb\nc\u202E', { multiline: true })).toEqual([
      { kind: 'text', text: 'a\n\tb\nc' },
      { kind: 'mark', text: 'U+202E' },
    ]);
  });

  test('nothing is nothing', () => {
    expect(visibleSegments('')).toEqual([]);
  });
});
