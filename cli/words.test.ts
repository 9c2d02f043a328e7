import { expect, test } from 'vitest';

import { printable, shellWord } from './words.ts';

test('a terminal gets no control characters', () => {
  expect(printable('a\u001B[2Jb\r\nc\u009Bd – é')).toBe('a [2Jb c d – é');
});

test.each([
  ['/home/me/.config/a_b-1.json', '/home/me/.config/a_b-1.json'],
  ['a b', `'a b'`],
  ['$(id)', `'$(id)'`],
  [`it's`, `'it'\\''s'`],
  ['', `''`],
])('%s is the word %s', (word, quoted) => {
  expect(shellWord(word)).toBe(quoted);
});
