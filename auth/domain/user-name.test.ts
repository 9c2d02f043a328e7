import { expect, test } from 'vitest';

import { numberedName, suggestUserName } from './user-name.ts';

test.for([
  ['ann@example.com', 'ann'],
  ['Ann.Müller+test@example.com', 'ann-muller-test'],
  ['42ann@example.com', 'ann'],
  ['--@example.com', 'user'],
  ['李@example.com', 'user'],
  ['org@example.com', 'user'],
  ['', 'user'],
  [`${'x'.repeat(64)}@example.com`, 'x'.repeat(50)],
])('%s is named %s', ([source = '', expected]) => {
  expect(suggestUserName(source)).toBe(expected);
});

test('names that are taken are numbered', () => {
  expect([1, 2, 11].map((attempt) => numberedName('ann', attempt))).toEqual([
    'ann',
    'ann-2',
    'ann-11',
  ]);
});
