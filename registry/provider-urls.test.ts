import { expect, test } from 'vitest';

import { findOtherProviderUrl } from './provider-urls.ts';

test.for([
  ['google', 'token_url', 'https://oauth2.googleapis.com/token', undefined],
  [
    'google',
    'token_url',
    'https://oauth2.googleapis.com/token/',
    'https://oauth2.googleapis.com/token',
  ],
  ['google', 'authorization_url', 'https://accounts.google.com.evil.example/', expect.any(String)],
  ['okta', 'token_url', 'https://acme.okta.com/oauth2/v1/token', undefined],
  [
    'okta',
    'token_url',
    'https://evil.example/oauth2/v1/token',
    expect.stringContaining('{domain}'),
  ],
  ['nobody-knows', 'token_url', 'https://anywhere.example/token', undefined],
] as const)('of %s, %s may not be %s', ([provider, kind, url, other]) => {
  expect(findOtherProviderUrl(provider, kind, url)).toEqual(other);
});
