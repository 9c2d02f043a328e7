import { describe, expect, test } from 'vitest';

import { pathBelow } from './served-operations.ts';

describe('the path below a prefix with a segment that is not known', () => {
  test.each([
    ['/ex/acme/issues/1', '/issues/1'],
    ['/EX/acme/issues', '/issues'],
    ['/ex/ac%2fme/issues', '/me/issues'],
    ['/ex/acme', '/'],
  ])('is, for %s, %s, and is not certain', (path, pathBelowPrefix) => {
    expect(pathBelow('/ex/{}', path)).toEqual({ path: pathBelowPrefix, isExact: false });
  });

  test.each(['/ex', '/ex/', '/other/acme/issues'])('is none for %s', (path) => {
    expect(pathBelow('/ex/{}', path)).toBeUndefined();
  });
});
