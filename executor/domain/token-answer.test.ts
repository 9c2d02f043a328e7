import { describe, expect, test } from 'vitest';

import { builtInProviders } from '#providers';
import { isFromProvider, readAuthorizationAnswer } from './authorization-answer.ts';
import { hostsOfAnswer, readTokenAnswer } from './token-answer.ts';

const row = (key: string) => {
  const found = builtInProviders().get(key);
  if (found === undefined) throw new Error(`no row ${key}`);
  return found;
};
const read = (key: string, body: unknown, status = 200) =>
  readTokenAnswer(row(key), {
    status,
    text: typeof body === 'string' ? body : JSON.stringify(body),
  });

describe('an answer of a token endpoint', () => {
  test('of the user, where the bot has one too (Slack)', () => {
    const answer = read('slack', {
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
    expect(read('slack', refreshed)).toMatchObject({ tokens: { accessToken: 'CANARY-next' } });
    expect(read('slack', { ok: false, error: 'invalid_refresh_token' })).toEqual({
      kind: 'refused',
      error: 'invalid_refresh_token',
      isDead: true,
    });
  });

  test('as a form, and refusing with status 200 (GitHub)', () => {
    expect(
      read('github', 'access_token=CANARY-a&scope=repo%2Cuser&token_type=bearer'),
    ).toMatchObject({
      tokens: { accessToken: 'CANARY-a', scopes: ['repo', 'user'], expiresInSeconds: null },
    });
    expect(read('github', 'error=bad_refresh_token')).toMatchObject({ isDead: true });
    expect(read('github', { error: 'incorrect_client_credentials' })).toMatchObject({
      kind: 'refused',
      isDead: false,
    });
  });

  test('that names a host and no lifetime (Salesforce)', () => {
    const body = { access_token: 'CANARY-a', instance_url: 'https://acme.my.salesforce.com' };
    expect(read('salesforce', body)).toMatchObject({ tokens: { expiresInSeconds: 3600 } });
    expect(hostsOfAnswer(row('salesforce'), body)).toEqual(['acme.my.salesforce.com']);
    for (const instance_url of [
      'https://evil.example',
      'https://salesforce.com.evil.example',
      'https://evilsalesforce.com',
      'http://acme.my.salesforce.com',
      'https://acme.my.salesforce.com:99999',
      7,
    ]) {
      expect(hostsOfAnswer(row('salesforce'), { instance_url })).toEqual([]);
    }
  });

  test('that says no in its own words (HubSpot, Atlassian)', () => {
    expect(read('hubspot', { status: 'BAD_REFRESH_TOKEN' }, 400)).toMatchObject({ isDead: true });
    expect(read('atlassian', { error: 'unauthorized_client' }, 403)).toMatchObject({
      isDead: true,
    });
    expect(read('google', { error: 'unauthorized_client' }, 401)).toMatchObject({ isDead: false });
  });

  test.for([
    ['an error of its server', { error: 'invalid_grant' }, 503],
    ['that it is asked too often', { error: 'invalid_grant' }, 429],
    ['a page', '<html>', 200],
    ['no token', { token_type: 'Bearer' }, 200],
    ['a token that breaks a header', { access_token: 'a\r\nx: y' }, 200],
    ['a list', '[]', 200],
    ['null', 'null', 200],
    ['no reason', {}, 400],
  ] as const)('that says %s settles nothing', ([, body, status]) => {
    expect(read('google', body, status).kind).toBe('unusable');
  });

  test.for([
    ['3600', 3600],
    [3599.9, 3599],
    [0, null],
    [-1, null],
    ['soon', null],
    [1e300, 315_360_000],
  ])('that lives for %j seconds', ([expires_in, seconds]) => {
    expect(read('google', { access_token: 'CANARY-a', expires_in })).toMatchObject({
      tokens: { expiresInSeconds: seconds },
    });
  });
});

describe('an answer at the callback', () => {
  test.for([
    'state=a&state=b&code=c',
    'code=c',
    'state=&code=c',
    'state=a&code=b&code=c',
    'state=a&iss=x&iss=y',
  ])('%s is refused', (query) => {
    expect(() => readAuthorizationAnswer(query)).toThrow(/begin again/);
  });

  test('is from the provider as far as that can be told', () => {
    const issuer = 'https://id.example';
    expect(isFromProvider({ issuer, issuer_required: false }, null)).toBe(true);
    expect(isFromProvider({ issuer, issuer_required: true }, null)).toBe(false);
    expect(isFromProvider({ issuer, issuer_required: true }, issuer)).toBe(true);
    expect(isFromProvider({ issuer, issuer_required: false }, `${issuer}/`)).toBe(false);
    expect(isFromProvider({ issuer_required: false }, 'https://evil.example')).toBe(true);
  });
});
