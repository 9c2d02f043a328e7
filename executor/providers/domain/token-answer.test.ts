import { describe, expect, test } from 'vitest';

import { builtInProviders } from '#providers';
import { isFromProvider, readAuthorizationAnswer } from './authorization-answer.ts';
import { hostsOfAnswer, readTokenAnswer } from './token-answer.ts';

const providerRowOf = (key: string) => {
  const provider = builtInProviders().get(key);
  if (provider === undefined) throw new Error(`no row ${key}`);
  return provider;
};
const readAnswer = (key: string, body: unknown, status = 200) =>
  readTokenAnswer(providerRowOf(key), {
    status,
    text: typeof body === 'string' ? body : JSON.stringify(body),
  });

describe('an answer of a token endpoint', () => {
  test('can contain a user’s token beside a bot’s (Slack)', () => {
    const answer = readAnswer('slack', {
      ok: true,
      access_token: 'CANARY-bot',
      scope: 'chat:write',
      authed_user: { id: 'U1', access_token: 'CANARY-user', scope: 'search:read,users:read' },
    });
    expect(answer).toMatchObject({
      kind: 'granted',
      tokens: { accessToken: 'CANARY-user', scopes: ['search:read', 'users:read'] },
    });
    const refreshed = { ok: true, access_token: 'CANARY-next', refresh_token: 'CANARY-r' };
    expect(readAnswer('slack', refreshed)).toMatchObject({
      tokens: { accessToken: 'CANARY-next' },
    });
    expect(readAnswer('slack', { ok: false, error: 'invalid_refresh_token' })).toEqual({
      kind: 'refused',
      error: 'invalid_refresh_token',
      isDead: true,
    });
  });

  test('can be a form, and a refusal with status 200 (GitHub)', () => {
    expect(
      readAnswer('github', 'access_token=CANARY-a&scope=repo%2Cuser&token_type=bearer'),
    ).toMatchObject({
      tokens: { accessToken: 'CANARY-a', scopes: ['repo', 'user'], expiresInSeconds: null },
    });
    expect(readAnswer('github', 'error=bad_refresh_token')).toMatchObject({ isDead: true });
    expect(readAnswer('github', { error: 'incorrect_client_credentials' })).toMatchObject({
      kind: 'refused',
      isDead: false,
    });
  });

  test('can name a host and no lifetime (Salesforce)', () => {
    const body = { access_token: 'CANARY-a', instance_url: 'https://acme.my.salesforce.com' };
    expect(readAnswer('salesforce', body)).toMatchObject({ tokens: { expiresInSeconds: 3600 } });
    expect(hostsOfAnswer(providerRowOf('salesforce'), body)).toEqual(['acme.my.salesforce.com']);
    for (const instance_url of [
      'https://evil.example',
      'https://salesforce.com.evil.example',
      'https://evilsalesforce.com',
      'http://acme.my.salesforce.com',
      'https://acme.my.salesforce.com:99999',
      7,
    ]) {
      expect(hostsOfAnswer(providerRowOf('salesforce'), { instance_url })).toEqual([]);
    }
  });

  test('can refuse with the provider’s own error codes (HubSpot, Atlassian)', () => {
    expect(readAnswer('hubspot', { status: 'BAD_REFRESH_TOKEN' }, 400)).toMatchObject({
      isDead: true,
    });
    const ambiguousBody = { status: 'BAD_REQUEST', error: 'invalid_grant' };
    expect(readAnswer('hubspot', ambiguousBody, 400)).toMatchObject({ isDead: true });
    expect(readAnswer('atlassian', { error: 'unauthorized_client' }, 403)).toMatchObject({
      isDead: true,
    });
    expect(readAnswer('google', { error: 'unauthorized_client' }, 401)).toMatchObject({
      isDead: false,
    });
  });

  test.for([
    ['the status 503', { error: 'invalid_grant' }, 503],
    ['the status 429', { error: 'invalid_grant' }, 429],
    ['an HTML page', '<html>', 200],
    ['no access token', { token_type: 'Bearer' }, 200],
    ['a line feed in the token', { access_token: 'a\r\nx: y' }, 200],
    ['a JSON list', '[]', 200],
    ['the JSON value null', 'null', 200],
    ['the status 400 and no error code', {}, 400],
  ] as const)('with %s neither grants nor refuses', ([, body, status]) => {
    expect(readAnswer('google', body, status).kind).toBe('unusable');
  });

  test.for([
    ['3600', 3600],
    [3599.9, 3599],
    [0, null],
    [-1, null],
    ['soon', null],
    [1e300, 315_360_000],
  ])(
    'with %j as the lifetime of the token is read as a lifetime of %j seconds',
    ([expires_in, seconds]) => {
      expect(readAnswer('google', { access_token: 'CANARY-a', expires_in })).toMatchObject({
        tokens: { expiresInSeconds: seconds },
      });
    },
  );
});

describe('a provider’s answer at the callback', () => {
  test.for([
    'state=a&state=b&code=c',
    'code=c',
    'state=&code=c',
    'state=a&code=b&code=c',
    'state=a&iss=x&iss=y',
  ])('with the query %s is refused', (query) => {
    expect(() => readAuthorizationAnswer(query)).toThrow(/begin again/);
  });

  test('must name the provider’s issuer when the provider always names it', () => {
    const issuer = 'https://id.example';
    expect(isFromProvider({ issuer, issuer_required: false }, null)).toBe(true);
    expect(isFromProvider({ issuer, issuer_required: true }, null)).toBe(false);
    expect(isFromProvider({ issuer, issuer_required: true }, issuer)).toBe(true);
    expect(isFromProvider({ issuer, issuer_required: false }, `${issuer}/`)).toBe(false);
    expect(isFromProvider({ issuer_required: false }, 'https://evil.example')).toBe(true);
  });
});
