import { describe, expect, test } from 'vitest';

import { baseUrlFor, isWithin } from './account-places.ts';

const lookUp = { get: 'https://api.example.com/sites', items: '.[]', value: '.id' };
const address = { lookUp, server: 'https://api.example.com/ex/{site}/', variable: 'site' };
const places = ['https://api.example.com/ex/a1', 'https://files.example.com'];

describe('the base URL for a value of the account', () => {
  test('has the value as one segment', () => {
    expect(baseUrlFor(address, 'a1')).toBe('https://api.example.com/ex/a1');
  });

  test.for(['', '..', 'a/b', 'a%2Fb', 'a?b', '.a', 'a b', 'ä', `a${'b'.repeat(128)}`])(
    'is not made from %j',
    (value) => {
      expect(baseUrlFor(address, value)).toBeUndefined();
    },
  );
});

describe('a server whose base URL could be the same for every value', () => {
  test.for([
    'https://api.example.com/ex/b2',
    'https://api.example.com/ex/{site}/../b2',
    'https://api.example.com/ex/{site}/..;/b2',
    'https://api.example.com/ex/{site}/..%2fb2',
    'https://api.example.com/ex/{site}/..\\b2',
    'https://api.example.com/ex/{site}//b2',
    'https://api.example.com/ex/{site}/{other}',
    'https://api.example.com/ex/{site}/{site}',
    'https://api.example.com/ex/x{site}',
    'https://api.example.com/?{site}',
    'https://api.example.com?/{site}',
    'https://api.example.com/ex/b2?x=/{site}',
    'https://api.example.com/ex/b2#/{site}',
    'https://{site}.example.com/ex',
    'https://user@api.example.com/ex/{site}',
    'https://api.example.com',
    '/ex/{site}',
  ])('gives no base URL for a value: %s', (server) => {
    expect(baseUrlFor({ ...address, server }, 'a1')).toBeUndefined();
  });
});

describe('a URL', () => {
  test.for([
    'https://api.example.com/ex/a1',
    'https://api.example.com/ex/a1/',
    'https://api.example.com/ex/a1/pages/7?cursor=..%2F..',
    'https://api.example.com/ex/a1/pages/a%2Fb',
    'https://api.example.com/ex/a1/pages/..a/b..',
    'https://api.example.com/ex/a1/pages/100%25',
    'https://api.example.com/ex/a1/pages/caf%C3%A9%20.%20txt%E2%80%A6/%E6%97%A5%E6%9C%AC',
    'https://api.example.com:443/ex/a1/pages',
    'https://files.example.com/anything',
  ])('is within the base URLs: %s', (url) => {
    expect(isWithin(places, url)).toBe(true);
  });

  test.for([
    'https://api.example.com/ex/b2/pages',
    'https://api.example.com/ex/a1b/pages',
    'https://api.example.com/ex/A1/pages',
    'https://api.example.com/ex',
    'https://api.example.com/ex/a1/../b2',
    'https://api.example.com/ex/a1/%2e%2e/b2',
    'https://api.example.com/ex/a1/..%2fb2',
    'https://api.example.com/ex/a1/..%5Cb2',
    'https://api.example.com/ex/a1/%252e%252e%252fb2',
    'https://api.example.com/ex/a1/..;x=1/b2',
    'https://api.example.com/ex/a1/..%3Bx/b2',
    'https://api.example.com/ex/a1/.%00./b2',
    'https://api.example.com/ex/a1/%c0%ae%c0%ae/b2',
    'https://api.example.com/ex/a1/%25c0%25ae%25c0%25ae/b2',
    'https://api.example.com/ex/a1/%e0%80%ae%e0%80%ae/b2',
    'https://api.example.com/ex/a1/%f0%80%80%ae%f0%80%80%ae/b2',
    'https://api.example.com/ex/a1/%u002e%u002e/b2',
    'https://api.example.com/ex/a1/%25%32%65%25%32%65/b2',
    'https://api.example.com/ex/a1/%%32%65%%32%65/b2',
    'https://api.example.com/ex/a1/..%20/b2',
    'https://api.example.com/ex/a1/%20../b2',
    'https://api.example.com/ex/a1/..%c2%a0/b2',
    'https://api.example.com/ex/a1/.%e2%80%8b./b2',
    'https://api.example.com/ex/a1/..%ff/b2',
    'https://api.example.com/ex/a1/..%3f/b2',
    'https://api.example.com/ex/a1/..%ef%bc%8fb2',
    'https://api.example.com/ex/a1/%ef%bc%8e%ef%bc%8e/b2',
    'https://api.example.com/ex/a1/%ef%bc%852e%ef%bc%852e/b2',
    'https://api.example.com/ex/a1/%2525252525252e',
    'https://user@api.example.com/ex/a1/pages',
    'http://api.example.com/ex/a1/pages',
    'https://api.example.com:8443/ex/a1/pages',
    'https://api.example.com.evil.example/ex/a1/pages',
    'no URL',
  ])('is not within the base URLs: %s', (url) => {
    expect(isWithin(places, url)).toBe(false);
  });
});
