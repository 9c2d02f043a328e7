import { describe, expect, test } from 'vitest';

import { isClientDocumentUrl, readClientMetadata as readMetadata } from './oauth-client.ts';

const readClientMetadata = (metadata: Record<string, unknown>) =>
  readMetadata(metadata, new Set(['my-editor']));
const plainMetadata = { redirect_uris: ['https://app.example/cb'] };

describe('the stored metadata of an OAuth client', () => {
  test('contain the supported fields only', () => {
    expect(
      readClientMetadata({
        ...plainMetadata,
        client_name: '  Claude\n Code ',
        software_id: 'claude-code',
        client_secret: 'CANARY-secret',
        jwks_uri: 'http://169.254.169.254/',
        sector_identifier_uri: 'https://127.0.0.1/',
        logo_uri: 'https://evil.example/logo.png',
      }),
    ).toEqual({
      name: 'Claude Code',
      softwareId: 'claude-code',
      redirectUris: ['https://app.example/cb'],
    });
  });

  test('have a default name when the client sends no printable name', () => {
    for (const name of [undefined, 17, '', ' \n ', '\u200b\u202e']) {
      expect(readClientMetadata({ ...plainMetadata, client_name: name })).toMatchObject({
        name: 'Unnamed client',
      });
    }
  });

  test('contain no characters that reverse the text direction, and at most 100 characters of the name', () => {
    expect(
      readClientMetadata({ ...plainMetadata, client_name: `\u202eevil\u0000${'x'.repeat(500)}` }),
    ).toMatchObject({ name: `evil${'x'.repeat(96)}` });
  });

  test('contain at most three accents on a letter, because more would cover other lines', () => {
    const name = `Z${'\u0301'.repeat(40)}oe\u{1d159}`;
    expect(readClientMetadata({ ...plainMetadata, client_name: name })).toMatchObject({
      name: `Z${'\u0301'.repeat(3)}oe`,
    });
  });

  test.for<[what: string, metadata: Record<string, unknown>, error: string]>([
    ['no redirect URI', {}, 'invalid_redirect_uri'],
    ['an empty list of redirect URIs', { redirect_uris: [] }, 'invalid_redirect_uri'],
    [
      'a string instead of a list of redirect URIs',
      { redirect_uris: 'https://a.example' },
      'invalid_redirect_uri',
    ],
    ['a redirect URI that is a number', { redirect_uris: [1] }, 'invalid_redirect_uri'],
    [
      'several redirect URIs, all of which cannot be used',
      { redirect_uris: ['unheard-of://cb', 'http://b.example/', 'javascript:alert(1)', 1] },
      'invalid_redirect_uri',
    ],
    [
      'eleven redirect URIs',
      { redirect_uris: Array.from({ length: 11 }, (_, n) => `https://a.example/${n}`) },
      'invalid_redirect_uri',
    ],
    [
      'an unsupported response type',
      { ...plainMetadata, response_types: ['token'] },
      'invalid_client_metadata',
    ],
    [
      'an unsupported grant type',
      { ...plainMetadata, grant_types: ['client_credentials'] },
      'invalid_client_metadata',
    ],
  ])('are refused with %s', ([, metadata, error]) => {
    expect(readClientMetadata(metadata)).toMatchObject({ error });
  });

  test('contain only the redirect URIs that can be used', () => {
    const usable = ['https://a.example/cb', 'my-editor://cb', 'http://127.0.0.1/cb'];
    const others = [
      'unheard-of://cb',
      'javascript:alert(1)',
      'http://b.example/',
      'https://a/#x',
      1,
    ];
    for (const redirect_uris of [
      [...usable, ...others],
      [...others, ...usable],
    ]) {
      expect(readClientMetadata({ redirect_uris })).toMatchObject({ redirectUris: usable });
    }
  });

  test('are refused with the list of allowed schemes when no redirect URI can be used', () => {
    expect(readClientMetadata({ redirect_uris: ['unheard-of://cb'] })).toMatchObject({
      description: expect.stringMatching(/scheme unheard-of: .*OAUTH_REDIRECT_SCHEMES/),
    });
  });
});

describe('a client_id that is the URL of a metadata document', () => {
  test.for<[url: string, expected: boolean]>([
    ['https://app.example/client.json', true],
    ['https://app.example:8443/client', true],
    ['http://app.example/client.json', false],
    ['https://app.example/', false],
    ['https://app.example', false],
    ['https://app.example/a/../client.json', false],
    ['https://user@app.example/client.json', false],
    ['https://app.example/client.json#x', false],
    ['https://app.example/client.json?x=1', false],
    ['https://APP.example/client.json', false],
    ['0190a2f0-0000-7000-8000-000000000000', false],
  ])('%s may be used: %s', ([url, expected]) => {
    expect(isClientDocumentUrl(url)).toBe(expected);
  });
});
