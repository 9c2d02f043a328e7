import { describe, expect, test } from 'vitest';

import { mayBeOn, prefixesOn } from './roots.ts';

const variable = (name: string) => ({ name, description: '', default: null, enum: null });
const siteServer = {
  url: 'https://{site}.example.net/api',
  variables: [variable('site')],
  baseUrlAllowed: true,
};
const accountServer = {
  url: 'https://api.example.com/ex/notes/{id}',
  variables: [variable('id')],
  baseUrlAllowed: false,
};
const notes = {
  server: siteServer,
  servers: [siteServer, accountServer],
  alsoAt: ['https://old.example.com/notes/v1', 'https://api.example.com/beta/{tenant}/notes'],
};
const at = (host: string, baseUrl: string | null) => prefixesOn(notes, { host, baseUrl });

describe('the paths of an API on a host (prefixesOn)', () => {
  test.each([
    ['acme.example.net', ['/api']],
    ['api.example.com', ['/ex/notes/{}', '/beta/{}/notes']],
    ['old.example.com', ['/notes/v1']],
    ['other.example.com', []],
    ['a.b.example.net', []],
    ['old.example.com:8443', []],
  ])('on %s are %j while no service is connected', (host, prefixes) => {
    expect(at(host, null)).toEqual(prefixes);
  });

  test('are the base URL of the service and every other root', () => {
    expect(at('acme.example.net', 'https://acme.example.net/api')).toEqual(['/api']);
    expect(at('api.example.com', 'https://acme.example.net/api')).toEqual([
      '/ex/notes/{}',
      '/beta/{}/notes',
    ]);
    expect(at('old.example.com', 'https://acme.example.net/api')).toEqual(['/notes/v1']);
    expect(at('api.example.com', 'https://api.example.com/ex/notes/7')).toEqual([
      '/ex/notes/7',
      '/beta/{}/notes',
    ]);
    expect(at('acme.example.net', 'https://api.example.com/ex/notes/7')).toEqual(['/api']);
  });

  test('leave out other sites than that of the service', () => {
    expect(at('beta.example.net', 'https://acme.example.net/api')).toEqual([]);
  });

  test('are only the base URL that an admin gave, because it is a separate installation', () => {
    const given = 'https://notes.example.org/v2';

    expect(at('notes.example.org', given)).toEqual(['/v2']);
    for (const host of ['api.example.com', 'old.example.com', 'acme.example.net']) {
      expect(at(host, given)).toEqual([]);
    }
  });
});

describe('a URL with variables in its host', () => {
  test.each([
    ['https://{a}.example.com', 'x.example.com', true],
    ['https://api-{a}.Example.com/v1', 'api-eu.example.com', true],
    ['https://{a}.example.com:8443', 'x.example.com:8443', true],
    ['https://{a}.example.com', 'x.example.com:8443', false],
    ['https://{a}.example.com', 'example.com', false],
    ['https://{a}.example.com', 'x.example.com.evil.test', false],
    ['https://api-{a}.example.com', 'web-eu.example.com', false],
  ])('%s may be on %s: %s', (url, host, isThere) => {
    expect(mayBeOn(url, host)).toBe(isThere);
  });

  test('is compared in one pass, even if one label has many variables', () => {
    const url = `https://${Array.from({ length: 20 }, (_, index) => `{v${index}}`).join('-')}x.example.com`;

    // A comparison that tries each division of the label would not end within the test.
    expect(mayBeOn(url, `${'-'.repeat(63)}.example.com`)).toBe(false);
  });
});
