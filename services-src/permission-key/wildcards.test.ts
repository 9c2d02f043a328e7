import { describe, expect, test } from 'vitest';

import { mapLiterals, restoreWildcards, splitAddress, writtenHostOf } from './wildcards.ts';

describe('the wildcards of a pattern', () => {
  test('separate the runs of text', () => {
    expect(mapLiterals('a/*b**', (literal) => literal.toUpperCase())).toBe('A/*B**');
  });

  test('are put back where the pattern has them, and nowhere else', () => {
    expect(restoreWildcards('/a*/%2a/*', '/a%2A/%2A/%2A')).toBe('/a*/%2A/*');
  });

  test.for<[pattern: string, split: ReturnType<typeof splitAddress>]>([
    ['api.example.com/v1/**', { host: 'api.example.com', rest: '/v1/**' }],
    ['*.example.com/v1', { host: '*.example.com', rest: '/v1' }],
    ['api.**/v1', { host: 'api.', rest: '**/v1' }],
    ['api.example.com', undefined],
  ])('show where the host of %s ends', ([pattern, split]) => {
    expect(splitAddress(pattern)).toEqual(split);
  });

  test.for([
    ['api.example.com/**', 'api.example.com'],
    ['*.example.com/v1', undefined],
    ['api.example.com', undefined],
  ])('show whether the host of %s has no wildcard', ([pattern = '', host]) => {
    expect(writtenHostOf(pattern)).toBe(host);
  });
});
