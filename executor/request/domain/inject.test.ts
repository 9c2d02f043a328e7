import { describe, expect, test } from 'vitest';

import { injectCredential } from './inject.ts';

const getRequest = { method: 'GET', body: null };

describe('injecting a credential', () => {
  const injection = {
    kind: 'secret' as const,
    credentialId: '0',
    credentialName: 'token',
    in: 'header' as const,
    key: 'Authorization',
    prefix: 'Bearer ',
    encoding: 'raw' as const,
  };

  test('replaces a header of the same name in any casing', () => {
    const request = {
      ...getRequest,
      url: 'https://a.example/',
      headers: [['authorization', 'mine']] as const,
    };

    expect(injectCredential(request, [{ injection, value: 'CANARY' }]).headers).toEqual([
      ['authorization', 'Bearer CANARY'],
    ]);
  });

  test('replaces a query parameter of the same name in any encoding', () => {
    const request = {
      ...getRequest,
      url: 'https://a.example/x?api%5Fkey=mine&b=1&API_KEY=2',
      headers: [],
    };
    const inQuery = { ...injection, in: 'query' as const, key: 'api_key', prefix: '' };

    expect(injectCredential(request, [{ injection: inQuery, value: 'CAN&ARY' }]).url).toBe(
      'https://a.example/x?b=1&api_key=CAN%26ARY',
    );
  });

  test('encodes a user name and password for basic authentication', () => {
    const basic = { ...injection, prefix: 'Basic ', encoding: 'basic' as const };

    expect(
      injectCredential({ ...getRequest, url: 'https://a.example/', headers: [] }, [
        { injection: basic, value: 'u:p' },
      ]).headers,
    ).toEqual([['authorization', `Basic ${Buffer.from('u:p').toString('base64')}`]]);
  });

  test('never sets a header that the HTTP client sets itself', () => {
    const host = { ...injection, key: 'Host' };

    expect(() =>
      injectCredential({ ...getRequest, url: 'https://a.example/', headers: [] }, [
        { injection: host, value: 'x' },
      ]),
    ).toThrow('cannot carry a secret');
  });
});
