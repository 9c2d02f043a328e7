import { describe, expect, test } from 'vitest';

import type { DescriptionPart } from '../contracts/template.ts';
import { cpuMsOf } from '../../test/support/cpu.ts';
import { renderDescription } from './description.ts';

const createIssueParts: DescriptionPart[] = [
  { text: 'Create issue "' },
  { param: 'title' },
  { text: '"' },
  { optional: [{ text: ' with ' }, { param: 'labels' }, { text: ' in ' }, { param: 'repo' }] },
];

describe('the description of a call (renderDescription)', () => {
  test('serialises a value once, however often the description names its parameter', () => {
    const parts: DescriptionPart[] = Array.from({ length: 300 }, () => ({ param: 'v' }));
    const value = Array.from({ length: 20_000 }, (_, index) => `item ${index}`);

    expect(cpuMsOf(() => renderDescription(parts, { v: value }))).toBeLessThan(
      20 * cpuMsOf(() => JSON.stringify(value)),
    );
  });

  test('has parameter values in place of placeholders', () => {
    const params = { title: 'Crash', labels: 'bug', repo: 'acme/site' };

    expect(renderDescription(createIssueParts, params)).toBe(
      'Create issue "Crash" with bug in acme/site',
    );
  });

  test.for<[what: string, params: Record<string, unknown>]>([
    ['when all of its parameters are absent', { title: 'Crash' }],
    ['when one of its parameters is absent', { title: 'Crash', labels: 'bug' }],
    [
      'when one of its parameters is undefined',
      { title: 'Crash', labels: undefined, repo: 'acme/site' },
    ],
  ])('does not contain an optional segment %s', ([, params]) => {
    expect(renderDescription(createIssueParts, params)).toBe('Create issue "Crash"');
  });

  test.for<[value: unknown, text: string]>([
    [0, '0'],
    [false, 'false'],
    [null, 'null'],
    ['', ''],
    [['a', 'b'], '["a","b"]'],
    [{ a: 1 }, '{"a":1}'],
  ])('shows the value %j as "%s"', ([value, text]) => {
    expect(renderDescription([{ text: '<' }, { param: 'v' }, { text: '>' }], { v: value })).toBe(
      `<${text}>`,
    );
  });

  test('does not use inherited properties as parameters', () => {
    expect(renderDescription([{ param: 'toString' }], {})).toBe('');
  });

  test('cuts a value after 120 characters, never inside a character', () => {
    const rendered = renderDescription([{ param: 'v' }], { v: '🐟'.repeat(500) });

    expect(rendered).toBe(`${'🐟'.repeat(120)}…`);
  });

  test('leaves a value of 120 characters whole', () => {
    expect(renderDescription([{ param: 'v' }], { v: 'a'.repeat(120) })).toBe('a'.repeat(120));
  });

  test.for<[what: string, value: string, shown: string]>([
    ['line breaks', 'a\nb', 'a\\u000ab'],
    ['terminal escapes', '\u001b[2J', '\\u001b[2J'],
    ['right-to-left override', 'a\u202eb', 'a\\u202eb'],
    ['isolates', '\u2066a\u2069', '\\u2066a\\u2069'],
    ['zero-width space', 'a\u200bb', 'a\\u200bb'],
    ['line separator', 'a\u2028b', 'a\\u2028b'],
    ['soft hyphen', 'a\u00adb', 'a\\u00adb'],
    ['tag characters', 'a\u{e0041}', 'a\\u{e0041}'],
    ['lone surrogates', 'a\ud800b', 'a\\ud800b'],
  ])('shows %s as an escape', ([, value, shown]) => {
    expect(renderDescription([{ param: 'v' }], { v: value })).toBe(shown);
  });

  test('shows letters of other scripts unchanged', () => {
    expect(renderDescription([{ param: 'v' }], { v: 'Grüße, 世界 – שלום' })).toBe(
      'Grüße, 世界 – שלום',
    );
  });
});
