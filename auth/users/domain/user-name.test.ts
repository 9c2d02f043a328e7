import { expect, test } from 'vitest';

import { toNumberedName, suggestUserName } from './user-name.ts';

test.for([
  ['ann@example.com', 'ann'],
  ['Ann.Müller+test@example.com', 'ann-muller-test'],
  ['42ann@example.com', 'ann'],
  ['--@example.com', 'user'],
  ['李@example.com', 'user'],
  ['org@example.com', 'user'],
  ['', 'user'],
  [`${'x'.repeat(64)}@example.com`, 'x'.repeat(50)],
])('the suggested user name for the e-mail address "%s" is %s', ([source = '', expected]) => {
  expect(suggestUserName(source)).toBe(expected);
});

test('further attempts append a number when a user name is taken', () => {
  expect([1, 2, 11].map((attempt) => toNumberedName('ann', attempt))).toEqual([
    'ann',
    'ann-2',
    'ann-11',
  ]);
});
