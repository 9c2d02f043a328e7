import { describe, expect, test } from 'vitest';

import { nearestName } from './nearest.ts';

describe('nearestName', () => {
  const known = ['issues.create', 'issues.list', 'repos.delete'];

  test.for<[given: string, expected: string | undefined]>([
    ['issues.creat', 'issues.create'],
    ['ISSUES.LIST', 'issues.list'],
    ['issue_create', 'issues.create'],
    ['something.else.entirely', undefined],
    ['x'.repeat(500), undefined],
  ])('%s', ([given, expected]) => {
    expect(nearestName(given, known)).toBe(expected);
  });

  test('nothing is near nothing', () => {
    expect(nearestName('x', [])).toBeUndefined();
  });
});
