import { expect, test } from 'vitest';

import { makePrintable, quoteForShell } from './words.ts';

test('text for a terminal is printed without its control characters', () => {
  expect(makePrintable('a\u001B[2Jb\r\nc\u009Bd – é')).toBe('a [2Jb c d – é');
});

test.each([
  ['/home/me/.config/a_b-1.json', '/home/me/.config/a_b-1.json'],
  ['a b', `'a b'`],
  ['$(id)', `'$(id)'`],
  [`it's`, `'it'\\''s'`],
  ['', `''`],
])('the word "%s" is quoted for a shell as %s', (word, quoted) => {
  expect(quoteForShell(word)).toBe(quoted);
});
