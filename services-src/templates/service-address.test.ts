import { describe, expect, test } from 'vitest';

import { isServedAt, normaliseBaseUrl } from './service-address.ts';

const createVariable = (name: string, values: string[] | null = null) => ({
  name,
  description: '',
  default: null,
  enum: values,
});
const createServer = (url: string, ...variables: ReturnType<typeof createVariable>[]) => ({
  url,
  variables,
  baseUrlAllowed: true,
});

describe('the base URL of a service', () => {
  test.each([
    [createServer('https://api.example.com/v1'), 'https://api.example.com/v1'],
    [
      createServer('https://{site}.example.com', createVariable('site')),
      'https://acme.example.com',
    ],
    [
      createServer('https://{site}.example.com:443/rest', createVariable('site')),
      'https://a-1.example.com/rest',
    ],
    [
      createServer('https://{a}.{b}.Example.com/X', createVariable('a'), createVariable('b')),
      'https://q.r.example.com/X',
    ],
    [
      createServer('https://api-{dc}.xxx.example.com', createVariable('dc', ['EU', 'us'])),
      'https://api-eu.xxx.example.com',
    ],
    [
      createServer('https://api.example.com/ex/{id}', createVariable('id')),
      'https://api.example.com/ex/A_b~1.c',
    ],
    [
      createServer(
        'https://{site}.example.com/{id}/v1',
        createVariable('site'),
        createVariable('id', ['Eu']),
      ),
      'https://acme.example.com/Eu/v1',
    ],
    [
      createServer(
        'https://{app}-{stage}.example.com',
        createVariable('app'),
        createVariable('stage', ['prod']),
      ),
      'https://my-app-prod.example.com',
    ],
    [
      createServer('https://{a}{b}.example.com', createVariable('a'), createVariable('b', ['1'])),
      'https://eu1.example.com',
    ],
  ])('is accepted: template server %j, base URL %s', (templateServer, baseUrl) => {
    expect(isServedAt(templateServer, baseUrl)).toBe(true);
  });

  test.each([
    [createServer('https://api.example.com/v1'), 'https://api.example.com'],
    [createServer('https://api.example.com/v1'), 'https://api.example.com/v1/admin'],
    [createServer('https://api.example.com'), 'http://api.example.com'],
    [createServer('https://api.example.com'), 'https://api.example.com:8443'],
    [
      createServer('https://{site}.example.com', createVariable('site')),
      'https://evil.test/.example.com',
    ],
    [
      createServer('https://{site}.example.com', createVariable('site')),
      'https://evil.test#.example.com',
    ],
    [createServer('https://{site}.example.com', createVariable('site')), 'https://a.b.example.com'],
    [createServer('https://{site}.example.com', createVariable('site')), 'https://.example.com'],
    [
      createServer('https://{site}.example.com', createVariable('site')),
      'https://acme.example.com/more',
    ],
    [
      createServer('https://{site}.example.com', createVariable('site')),
      'https://acme.exampleXcom',
    ],
    [
      createServer('https://{site}.example.com', createVariable('site')),
      'https://ACME.example.com',
    ],
    [
      createServer('https://{a}-{b}.example.com', createVariable('a'), createVariable('b')),
      'https://acme-.example.com',
    ],
    [
      createServer('https://{a}-{b}.example.com', createVariable('a'), createVariable('b')),
      'https://acme.example.com',
    ],
    [
      createServer('https://{site}.example.com', createVariable('site')),
      'https://acme.example.com\n',
    ],
    [
      createServer('https://api-{dc}.example.com', createVariable('dc', ['eu'])),
      'https://api-us.example.com',
    ],
    [
      createServer('https://api.example.com/ex/{id}', createVariable('id')),
      'https://evil.example/ex/a',
    ],
    [
      createServer('https://api.example.com/ex/{id}', createVariable('id')),
      'https://api.example.com/ex',
    ],
    [
      createServer('https://api.example.com/ex/{id}', createVariable('id')),
      'https://api.example.com/ex/a/b',
    ],
    [
      createServer('https://api.example.com/ex/{id}', createVariable('id')),
      'https://api.example.com/ex/..',
    ],
    [
      createServer('https://api.example.com/ex/{id}', createVariable('id')),
      'https://api.example.com/ex/a%2Fb',
    ],
    [
      createServer('https://api.example.com/ex/{id}', createVariable('id')),
      'https://api.example.com/ex/a?b',
    ],
    [
      createServer('https://api.example.com/ex/{id}', createVariable('id')),
      'https://api.example.com/ex/a\n',
    ],
    [
      createServer('https://api.example.com/{id}', createVariable('id', ['Eu'])),
      'https://api.example.com/eu',
    ],
  ])('is refused: template server %j, base URL %s', (templateServer, baseUrl) => {
    expect(isServedAt(templateServer, baseUrl)).toBe(false);
  });

  test('is compared in one pass, even if one label has many variables', () => {
    const names = Array.from({ length: 20 }, (_, index) => `v${index}`);
    const manyVariables = createServer(
      `https://${names.map((name) => `{${name}}`).join('-')}x.example.com`,
      ...names.map((name) => createVariable(name)),
    );

    // A comparison that tries each division of the label would not end within the test.
    expect(isServedAt(manyVariables, `https://${'-'.repeat(63)}.example.com`)).toBe(false);
  });

  test('is stored in normal form', () => {
    expect(normaliseBaseUrl('HTTPS://Git.Example.com.:443/api//')).toBe(
      'https://git.example.com/api',
    );
    expect(normaliseBaseUrl('nothing')).toBeUndefined();
  });
});
