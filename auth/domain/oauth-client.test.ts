import { describe, expect, test } from 'vitest';

import { isClientDocumentUrl, readClientMetadata } from './oauth-client.ts';

const plain = { redirect_uris: ['https://app.example/cb'] };

describe('client metadata', () => {
  test('keeps the few fields that mean something and drops the rest unread', () => {
    expect(
      readClientMetadata({
        ...plain,
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

  test('gets a name when there is none that can be shown', () => {
    for (const name of [undefined, 17, '', ' \n ', '\u200b\u202e']) {
      expect(readClientMetadata({ ...plain, client_name: name })).toMatchObject({
        name: 'Unnamed client',
      });
    }
  });

  test('cannot turn the direction of the page, or fill it', () => {
    expect(
      readClientMetadata({ ...plain, client_name: `\u202eevil\u0000${'x'.repeat(500)}` }),
    ).toMatchObject({ name: `evil${'x'.repeat(96)}` });
  });

  test.for<[what: string, metadata: Record<string, unknown>, error: string]>([
    ['no redirect URI', {}, 'invalid_redirect_uri'],
    ['an empty list', { redirect_uris: [] }, 'invalid_redirect_uri'],
    ['a string', { redirect_uris: 'https://a.example' }, 'invalid_redirect_uri'],
    ['numbers', { redirect_uris: [1] }, 'invalid_redirect_uri'],
    [
      'one bad of two',
      { redirect_uris: ['https://a.example/', 'http://b.example/'] },
      'invalid_redirect_uri',
    ],
    [
      'eleven',
      { redirect_uris: Array.from({ length: 11 }, (_, n) => `https://a.example/${n}`) },
      'invalid_redirect_uri',
    ],
    ['another response type', { ...plain, response_types: ['token'] }, 'invalid_client_metadata'],
    ['another grant', { ...plain, grant_types: ['client_credentials'] }, 'invalid_client_metadata'],
  ])('is refused with %s', ([, metadata, error]) => {
    expect(readClientMetadata(metadata)).toMatchObject({ error });
  });
});

describe('the address of a metadata document', () => {
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
  ])('%s', ([url, expected]) => {
    expect(isClientDocumentUrl(url)).toBe(expected);
  });
});
