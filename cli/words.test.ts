import { expect, test } from 'vitest';

import { makePrintable, makePrintableText, quoteForShell } from './words.ts';

test('the control characters of text for a terminal are not printed', () => {
  expect(makePrintable('a\u001B[2Jb\r\nc\u009Bd – é')).toBe('a [2Jb c d – é');
});

test('characters that are invisible or reorder text are printed as code points', () => {
  expect(makePrintable('pay\u202Eevil\u200B\u{E0041}')).toBe(
    String.raw`pay\u202eevil\u200b\udb40\udc41`,
  );
});

test('text of several lines keeps its lines, and JSON keeps its meaning', () => {
  const data = { name: 'a\u202E\u009B2J\u007F', lines: 'b\nc' };
  const printed = makePrintableText(JSON.stringify(data, null, 2));
  expect(printed).toMatch(/^[\x20-\x7e\n]+$/);
  expect(JSON.parse(printed)).toEqual(data);
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
