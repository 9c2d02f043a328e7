import { describe, expect, test } from 'vitest';

import { formTargetsOf, parseReturnTo } from './return-to.ts';

describe('where to return after signing in', () => {
  test.for([
    '/',
    '/approvals/0198?tab=all#top',
    '/oauth/authorize?client_id=a&redirect_uri=http%3A%2F%2F127.0.0.1%3A3000%2Fcb&state=%0d%0a',
    '/oauth/authorize?redirect_uri=http://127.0.0.1:3000/cb',
    '/%2Fevil.example',
    '/%5Cevil.example',
    '/@evil.example',
    '/:443',
  ])('may be %j', (path) => {
    expect(parseReturnTo(path)).toBe(path);
    expect(new URL(path, 'https://gateway.example').host).toBe('gateway.example');
  });

  test('is resolved as a browser does', () => {
    expect(parseReturnTo('/a/../b/./c')).toBe('/b/c');
    expect(parseReturnTo('/a/%2e%2e/b')).toBe('/b');
  });

  test.for([
    '',
    'approvals',
    '//evil.example',
    '///evil.example',
    '/\\evil.example',
    '\\\\evil.example',
    '\\/evil.example',
    '/a\\b',
    'https://evil.example',
    'https:evil.example',
    'HTTPS:/evil.example',
    'javascript:alert(1)',
    'data:text/html,x',
    '@evil.example',
    ' //evil.example',
    '/ /evil.example',
    '/\t/evil.example',
    '\t//evil.example',
    '/\n/evil.example',
    '/\r\nset-cookie: a=b',
    '/\0',
    '/\u007f',
    '/.//evil.example',
    '/a/..//evil.example',
    '/%2e//evil.example',
    '/a//b',
    '/é',
    '/\u2044evil.example',
    '/\uff0fevil.example',
    `/${'x'.repeat(4_000)}`,
    undefined,
    ['/a', '/b'],
  ])('is never %j', (text) => {
    expect(parseReturnTo(text)).toBeNull();
  });

  test('opens form-action only for authorization requests', () => {
    expect(formTargetsOf(null)).toEqual([]);
    expect(formTargetsOf('/approvals?redirect_uri=https%3A%2F%2Fa')).toEqual([]);
    expect(formTargetsOf('/oauth/authorize?redirect_uri=cursor%3A%2F%2Fcb')).toEqual([
      'https:',
      'http:',
      'cursor:',
    ]);
    expect(formTargetsOf('/oauth/continue/1')).toEqual(['https:', 'http:']);
    expect(formTargetsOf('/oauth/a?redirect_uri=x%3B%20script-src%20*')).toEqual([
      'https:',
      'http:',
    ]);
  });
});
