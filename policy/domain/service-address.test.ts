import { describe, expect, test } from 'vitest';

import { isServedAt, normaliseBaseUrl } from './service-address.ts';

const variable = (name: string, values: string[] | null = null) => ({
  name,
  description: '',
  default: null,
  enum: values,
});
const server = (url: string, ...variables: ReturnType<typeof variable>[]) => ({
  url,
  variables,
  baseUrlAllowed: true,
});

describe('where a template puts a service', () => {
  test.each([
    [server('https://api.example.com/v1'), 'https://api.example.com/v1'],
    [server('https://{site}.example.com', variable('site')), 'https://acme.example.com'],
    [
      server('https://{site}.example.com:443/rest', variable('site')),
      'https://a-1.example.com/rest',
    ],
    [
      server('https://{a}.{b}.Example.com/X', variable('a'), variable('b')),
      'https://q.r.example.com/X',
    ],
    [
      server('https://api-{dc}.xxx.example.com', variable('dc', ['EU', 'us'])),
      'https://api-eu.xxx.example.com',
    ],
  ])('%j serves %s', (given, baseUrl) => {
    expect(isServedAt(given, baseUrl)).toBe(true);
  });

  test.each([
    [null, 'https://api.example.com'],
    [server('https://api.example.com/v1'), 'https://api.example.com'],
    [server('https://api.example.com/v1'), 'https://api.example.com/v1/admin'],
    [server('https://api.example.com'), 'http://api.example.com'],
    [server('https://api.example.com'), 'https://api.example.com:8443'],
    [server('https://{site}.example.com', variable('site')), 'https://evil.test/.example.com'],
    [server('https://{site}.example.com', variable('site')), 'https://evil.test#.example.com'],
    [server('https://{site}.example.com', variable('site')), 'https://a.b.example.com'],
    [server('https://{site}.example.com', variable('site')), 'https://.example.com'],
    [server('https://{site}.example.com', variable('site')), 'https://acme.example.com/more'],
    [server('https://{site}.example.com', variable('site')), 'https://acme.exampleXcom'],
    [server('https://{site}.example.com', variable('site')), 'https://acme.example.com\n'],
    [server('https://api-{dc}.example.com', variable('dc', ['eu'])), 'https://api-us.example.com'],
  ])('%j does not serve %s', (given, baseUrl) => {
    expect(isServedAt(given, baseUrl)).toBe(false);
  });

  test('is written as services have it', () => {
    expect(normaliseBaseUrl('HTTPS://Git.Example.com.:443/api//')).toBe(
      'https://git.example.com/api',
    );
    expect(normaliseBaseUrl('nothing')).toBeUndefined();
  });
});
