import { describe, expect, test } from 'vitest';

import { hiddenCharacters } from '#hidden-characters';
import { displayName } from './display-name.ts';

const isAccepted = (name: unknown) => displayName.safeParse(name).success;

describe('a display name', () => {
  test.for([
    'Ann Berg',
    'Ann',
    'x',
    "Siobhán O'Néill-Łukasz",
    'Nguyễn Thị Minh Khai',
    'Nguye\u0302\u0303n',
    '山田 太郎',
    'محمد علي',
    'שרה כהן',
    'अनिता देशपांडे',
    'Ann Berg (ops)',
    'Ann 🦊',
    '<b>Ann</b>',
    'a'.repeat(80),
    '🦊'.repeat(80),
  ])('may be %j', (name) => {
    expect(isAccepted(name)).toBe(true);
  });

  test.for<[what: string, name: unknown]>([
    ['empty', ''],
    ['only a space', ' '],
    ['with a space before it', ' Ann'],
    ['with a space after it', 'Ann '],
    ['with two spaces in a row', 'Ann  Berg'],
    ['81 characters long', 'a'.repeat(81)],
    ['81 characters outside the basic plane', '🦊'.repeat(81)],
    ['with a line feed', 'Ann\nBerg'],
    ['with a carriage return', 'Ann\rBerg'],
    ['with a tab', 'Ann\tBerg'],
    ['with a null', 'Ann\0'],
    ['with an escape sequence', 'Ann\u001b[31m'],
    ['with a C1 control', 'Ann\u0085'],
    ['with a delete character', 'Ann\u007f'],
    ['with a right-to-left override', 'Ann\u202enna'],
    ['with a left-to-right embedding', '\u202aAnn'],
    ['with a first strong isolate', '\u2068Ann\u2069'],
    ['with a right-to-left mark', 'Ann\u200f'],
    ['with an Arabic letter mark', 'Ann\u061c'],
    ['with a zero-width space', 'An\u200bn'],
    ['with a zero-width non-joiner', 'An\u200cn'],
    ['with a zero-width joiner', 'An\u200dn'],
    ['with a word joiner', 'An\u2060n'],
    ['with a byte order mark', '\ufeffAnn'],
    ['with a soft hyphen', 'An\u00adn'],
    ['with a combining grapheme joiner', 'An\u034fn'],
    ['with a Hangul filler', '\u3164'],
    ['with a braille blank', '\u2800'],
    ['with a no-break space', 'Ann\u00a0Berg'],
    ['with an ideographic space', 'Ann\u3000Berg'],
    ['with a hair space', 'Ann\u200aBerg'],
    ['with a line separator', 'Ann\u2028'],
    ['with a paragraph separator', 'Ann\u2029'],
    ['with a variation selector', 'Ann\ufe0f'],
    ['with a tag character', 'Ann\u{e0041}'],
    ['with a private-use character', 'Ann\ue000'],
    ['with an unassigned character', 'Ann\u0378'],
    ['with a lone high surrogate', 'Ann\ud83e'],
    ['with a lone low surrogate', '\udd8aAnn'],
    ['with an accent on nothing', '\u0301Ann'],
    ['with an accent on a space', 'Ann \u0301'],
    ['with a note that is drawn as nothing', 'An\u{1d159}n'],
    ['a path', 'Ann Berg (ann) › deploy-bot'],
    ['with a pile of accents', `A${'\u0301'.repeat(4)}nn`],
    ['a number', 7],
    ['a list', ['Ann']],
  ])('is never %s', ([, name]) => {
    expect(isAccepted(name)).toBe(false);
  });

  test('holds no character that the gateway counts as hidden', () => {
    const hidden = new RegExp(`[${hiddenCharacters}]`, 'u');
    const accepted: string[] = [];
    for (let codePoint = 0; codePoint <= 0x10ffff; codePoint += 1) {
      const character = String.fromCodePoint(codePoint);
      if (hidden.test(character) && isAccepted(`A${character}A`)) accepted.push(character);
    }
    expect(accepted).toEqual([]);
  });
});
