import { expect, test } from 'vitest';

import { readAccountValues } from './read-account-values.ts';

const lookUp = { get: 'https://api.example.com/sites', items: '.[]', value: '.id', label: '.name' };
const labelOf = (name: string) => readAccountValues([{ id: 'a', name }], lookUp)?.[0]?.label;

test('an answer without a list gives undefined, and an empty list gives no values', () => {
  expect(readAccountValues({ message: 'no' }, lookUp)).toBeUndefined();
  expect(readAccountValues({ sites: [] }, { ...lookUp, items: '.sites[]' })).toEqual([]);
});

test('a value that cannot be one segment of a path is left out, and a repeated value is listed once', () => {
  const ids = ['a', '..', 'b/c', 'd\u200be', ' f', '\ud800', '', null, { g: 1 }, 'a'];

  expect(
    readAccountValues(
      ids.map((id) => ({ id })),
      lookUp,
    ),
  ).toEqual([{ value: 'a', label: 'a' }]);
});

test('a number is a value only if JSON gives it exactly', () => {
  const items = JSON.parse('[{"id": 7}, {"id": 9007199254740993}, {"id": 1.5}, {"id": 1e30}]');

  expect(readAccountValues(items, lookUp)).toEqual([{ value: '7', label: '7' }]);
});

test('all values are read, however many there are', () => {
  const items = Array.from({ length: 500 }, (_, at) => ({ id: `site-${at}` }));

  expect(readAccountValues(items, lookUp)).toHaveLength(500);
});

test('a label is one line of well-formed text of 200 characters at most', () => {
  expect(labelOf(`${'x'.repeat(199)}\u{1F600}`)).toBe(`${'x'.repeat(199)}\ufffd`);
  expect(labelOf('a\ud800b')).toBe('a\ufffdb');
  expect(labelOf('x'.repeat(300))).toHaveLength(200);
  expect(labelOf('pay\u202epal\u2800\u{e0041}\u115f\n.net')).toBe('paypal.net');
  expect(labelOf('Acme\u3000Ltd')).toBe('Acme Ltd');
  expect(labelOf('\u200b')).toBe('a');
});
