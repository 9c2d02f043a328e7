import { describe, expect, test } from 'vitest';

import { formTargetsOf, parseReturnTo } from './return-to.ts';

describe('the path to return to after sign-in', () => {
  test.for([
    '/',
    '/?tab=all#top',
    '/approvals/0198?tab=all#top',
    '/approvals/@evil.example',
    '/services/org%2Fgithub',
    '/provide/token-1',
    '/connect/0198',
    '/sign-in/password?return_to=%2Fapprovals',
    '/oauth/authorize?client_id=a&redirect_uri=http%3A%2F%2F127.0.0.1%3A3000%2Fcb&state=%0d%0a',
    '/oauth/authorize?redirect_uri=http://127.0.0.1:3000/cb',
  ])('may be %j', (path) => {
    expect(parseReturnTo(path)).toBe(path);
    expect(new URL(path, 'https://gateway.example').host).toBe('gateway.example');
  });

  test('is resolved as a browser would resolve it', () => {
    expect(parseReturnTo('/approvals/../requests/./c')).toBe('/requests/c');
    expect(parseReturnTo('/v1/%2e%2e/requests/b')).toBe('/requests/b');
  });

  test.for([
    '',
    'approvals',
    '//evil.example',
    '///evil.example',
    '/%2Fevil.example',
    '/%2F%2Fevil.example',
    '/%5Cevil.example',
    '/approvals/%5cevil.example',
    '/approvals/%0d%0aset-cookie:a',
    '/approvals/%00',
    '/@evil.example',
    '/:443',
    '/v1/sign-out',
    '/v1/connections/callback/github?code=a&state=b',
    '/approvals/../v1/status',
    '/sign-in',
    '/sign-in?again=1',
    '/sign-in/with/work',
    '/sign-in/callback/work?state=s',
    '/assets/index.js',
    '/approvalsx',
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

  test('allows further form-action targets only if it is an authorization request', () => {
    expect(formTargetsOf(null, new Set())).toEqual([]);
    expect(formTargetsOf('/approvals?redirect_uri=https%3A%2F%2Fa', new Set())).toEqual([]);
    expect(formTargetsOf('/oauth/consent?id=1', new Set())).toEqual([]);
  });

  test.for([
    ['https://app.example:8443/cb?x=1', 'https://app.example:8443'],
    ['http://127.0.0.1:33418/cb', 'http://127.0.0.1:33418'],
    ['com.example.app:/cb', 'com.example.app:'],
    ['cursor://host/cb', 'cursor:'],
    ['my-editor://host/cb', 'my-editor:'],
  ] as const)(
    'allows forms to lead to the client at %s and to nobody else',
    ([redirectUri, target]) => {
      const query = new URLSearchParams({ redirect_uri: redirectUri }).toString();
      const schemes = new Set(['my-editor']);
      expect(formTargetsOf(`/oauth/authorize?${query}`, schemes)).toEqual([target]);
    },
  );

  test.for([
    'x; script-src *',
    'https://a.example; script-src *',
    'https://*',
    'http://evil.example/',
    'javascript:alert(1)',
    'data:text/html,x',
    'my-editor://host/cb',
    'https:',
    '*',
  ])('allows no further form-action target for %j, which no client can register', (redirectUri) => {
    const query = new URLSearchParams({ redirect_uri: redirectUri }).toString();
    expect(formTargetsOf(`/oauth/authorize?${query}`, new Set())).toEqual([]);
  });
});
