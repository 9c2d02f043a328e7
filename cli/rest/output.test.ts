import { stripVTControlCharacters } from 'node:util';

import { expect, test } from 'vitest';

import { formatJson, formatShown } from './output.ts';

const terminal = { isTTY: true, hasColors: () => true };
const plainTerminal = { isTTY: true, hasColors: () => false };
const pipe = { isTTY: false, hasColors: () => false };

const agents = {
  header: ['ID', 'NAME'],
  table: [
    ['1', 'bot'],
    ['22', null],
  ],
};

test('a table on a terminal has a dim header and aligned columns', () => {
  const printed = formatShown(agents, terminal);
  expect(printed).toContain('\u001B[2m');
  expect(stripVTControlCharacters(printed)).toBe('ID  NAME\n1   bot\n22');
  expect(formatShown(agents, plainTerminal)).toBe('ID  NAME\n1   bot\n22');
});

test('a table in a pipe has tabs, no header and no colour', () => {
  expect(formatShown(agents, pipe)).toBe('1\tbot\n22\t');
});

test('a long cell is shortened on a terminal, but not in a pipe', () => {
  const long = { header: ['X'], table: [['x'.repeat(100)]] };
  expect(formatShown(long, plainTerminal)).toContain('…');
  expect(formatShown(long, pipe)).toBe('x'.repeat(100));
});

test('for an empty table a terminal shows "none", and a pipe gets nothing', () => {
  expect(formatShown({ header: ['X'], table: [] }, plainTerminal)).toBe('none');
  expect(formatShown({ header: ['X'], table: [] }, pipe)).toBe('');
});

test.each([
  ['a table', { header: ['X'], table: [['a\u001B[2J\tb\nc\u202E']] }],
  ['facts', { facts: [['na\u001B[2J\nme\u202E', 'a\u001B[2J\tb\nc\u202E']] as const }],
  ['text', { text: 'a\u001B[2J\u202E' }],
])('control characters and bidirectional characters of %s are not printed', (_, shown) => {
  for (const stream of [plainTerminal, pipe]) {
    expect(formatShown(shown, stream).replace('X\n', '')).not.toMatch(/[\p{Cc}\u202E]/u);
  }
});

test('facts without a value are left out', () => {
  expect(
    formatShown(
      {
        facts: [
          ['a', 1],
          ['bc', undefined],
          ['d', null],
        ],
      },
      pipe,
    ),
  ).toBe('a: 1');
});

test('JSON escapes invisible characters, so that the data stays the same', () => {
  const data = { name: '\u202E\u200B' };
  expect(formatJson(data)).toBe('{\n  "name": "\\u202e\\u200b"\n}');
  expect(JSON.parse(formatJson(data))).toEqual(data);
});
