import { describe, expect, test } from 'vitest';

import { isPlainPath, pathBelow, plainPartOf } from './served-operations.ts';

describe('the path below the prefix /ex/{}', () => {
  test.each([
    ['/ex/acme/issues/1', '/issues/1'],
    ['/EX/acme/issues/', '/issues/'],
    ['/ex/ac%2Fme/issues', '/issues'],
    ['/ex/acme', ''],
  ])('of %s is %j', (path, pathBelowPrefix) => {
    expect(pathBelow('/ex/{}', path)).toBe(pathBelowPrefix);
  });

  test.each(['/ex', '/ex/', '/other/acme/issues'])('of %s is undefined', (path) => {
    expect(pathBelow('/ex/{}', path)).toBeUndefined();
  });
});

test.for<[path: string, expected: boolean]>([
  ['/', true],
  ['/a/b/', true],
  ["/a-._~!$&'()+,=:@/%C3%A4%20%40", true],
  ['/projects/acme%2Fsite', true],
  ['//a', false],
  ['/a//b', false],
  ['/a;v=1', false],
  ['/a%3bv=1', false],
  ['/a%5Cb', false],
  ['/a./b', false],
  ['/a..', false],
  ['/a%20/b', false],
  ['/a%C2%A0', false],
  ['/a%C2%85', false],
  ['/%C1%A1', false],
  ['/%2561', false],
])('every server reads the path %s in one way: %s', ([path, expected]) => {
  expect(isPlainPath(path)).toBe(expected);
});

test.for<[path: string, expected: string]>([
  ['/a/b', '/a/b'],
  ['/a/b;v=1/c', '/a'],
  ['/a/b//c', '/a/b'],
  ['/a/b/100%2525', '/a/b'],
  ['/a/b%20', '/a'],
  ['//a', ''],
  ['/a/x%252Fy', '/a'],
  ['/a/x%252F%252E%252E%252Fy', ''],
  ['/a/%25252E%25252E/x', ''],
  ['/a/x%252525252525252E', ''],
  ['/a/%C0%AE%C0%AE/x', ''],
  ['/a/..%20/x', ''],
  ['/a/..%C2%85/x', ''],
  ['/a/.../x', ''],
])('the part of the path %s that every server reads in one way is %j', ([path, expected]) => {
  expect(plainPartOf(path)).toBe(expected);
});
