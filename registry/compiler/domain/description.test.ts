import { describe, expect, test } from 'vitest';

import type { DescriptionPart } from '#contracts/template';
import { parametersOf, parseDescription } from './description.ts';

describe('parsing the description of an action (parseDescription)', () => {
  test.for<[text: string, parts: DescriptionPart[]]>([
    ['', []],
    ['List issues', [{ text: 'List issues' }]],
    ['Read {id}', [{ text: 'Read ' }, { param: 'id' }]],
    ['{a}{b}', [{ param: 'a' }, { param: 'b' }]],
    [
      'a[ by {b}]c',
      [{ text: 'a' }, { optional: [{ text: ' by ' }, { param: 'b' }] }, { text: 'c' }],
    ],
    ['[{a} and {b}]', [{ optional: [{ param: 'a' }, { text: ' and ' }, { param: 'b' }] }]],
    ['\\[x\\] \\{y\\} \\\\', [{ text: '[x] {y} \\' }]],
    ['[\\[{a}\\]]', [{ optional: [{ text: '[' }, { param: 'a' }, { text: ']' }] }]],
    ['{ a }', [{ param: 'a' }]],
    ['{filter.name}', [{ param: 'filter.name' }]],
    ['[ by {filter[name]}]', [{ optional: [{ text: ' by ' }, { param: 'filter[name]' }] }]],
  ])('reads "%s" as %j', ([text, parts]) => {
    expect(parseDescription(text)).toEqual({ ok: true, parts });
  });

  test.for<[text: string, problem: string]>([
    ['a [b {c}', 'never closed'],
    ['a b] {c}', 'closes nothing'],
    ['[a [b {c}]]', 'inside another'],
    ['[a]', 'names no parameter'],
    ['{}', 'names no parameter'],
    ['{ }', 'names no parameter'],
    ['{a', 'has no counterpart'],
    ['a}', 'has no counterpart'],
    ['{a{b}}', 'has no counterpart'],
    ['a\\b', 'has no counterpart'],
    ['a\\', 'has no counterpart'],
  ])('refuses "%s" with an error that contains: %s', ([text, problem]) => {
    expect(parseDescription(text)).toEqual({
      ok: false,
      problem: expect.stringContaining(problem),
    });
  });
});

describe('the parameters of a description (parametersOf)', () => {
  test('are listed with whether they appear only in optional parts', () => {
    const parsed = parseDescription('{a}[ with {b} and {a}]');

    expect(parsed.ok && [...parametersOf(parsed.parts)]).toEqual([
      ['a', { optional: false }],
      ['b', { optional: true }],
    ]);
  });
});
