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

const nest = (value: object, depth: number): object =>
  depth === 0 ? value : { in: nest(value, depth - 1) };

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
      weight: 'final',
    });
  });

  test('can be a form, and a refusal with status 200 (GitHub)', () => {
    expect(
      readAnswer('github', 'access_token=CANARY-a&scope=repo%2Cuser&token_type=bearer'),
    ).toMatchObject({
      tokens: { accessToken: 'CANARY-a', scopes: ['repo', 'user'], expiresInSeconds: null },
    });
    expect(readAnswer('github', 'error=bad_refresh_token')).toMatchObject({ weight: 'final' });
    expect(readAnswer('github', { error: 'incorrect_client_credentials' })).toMatchObject({
      kind: 'refused',
      weight: 'of_client',
    });
  });

  test('can contain a host and no lifetime (Salesforce)', () => {
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
      weight: 'final',
    });
    const ambiguousBody = { status: 'BAD_REQUEST', error: 'invalid_grant' };
    expect(readAnswer('hubspot', ambiguousBody, 400)).toMatchObject({ weight: 'final' });
    expect(readAnswer('atlassian', { error: 'unauthorized_client' }, 403)).toMatchObject({
      weight: 'final',
    });
    expect(readAnswer('google', { error: 'unauthorized_client' }, 401)).toMatchObject({
      weight: 'of_client',
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
  ] as const)('with %s is neither a grant nor a refusal', ([, body, status]) => {
    expect(readAnswer('google', body, status).kind).toBe('unusable');
  });

  test.for<[string, unknown, number?]>([
    ['invalid_grant', { error: 'invalid_grant' }],
    ['a sentence with the code at its head', { error: 'invalid_grant - token revoked' }],
    ['a sentence with the code at its end', { message: 'OAuth error: invalid_grant' }],
    ['a list of texts', { errors: ['invalid_grant - token revoked'] }],
    ['a list as the whole answer', ['invalid_grant']],
    ['a text as the whole answer', 'invalid_grant: token revoked'],
    ['a text in quotes', '"invalid_grant"'],
    ['a form with another member', 'errors=invalid_grant'],
    ['a nested code', { error: { status: 400, details: [{ code: 'INVALID_GRANT' }] } }],
    ['a JSON text in a text', { message: '{"error":"invalid_grant"}' }],
    ['the name of a member', { errors: { invalid_grant: ['expired'] } }],
    ['another spelling', { error: { type: 'InvalidGrant' } }],
    ['a code beside an unspecific one', { error: 'invalid_request', code: 'invalid-grant' }],
    ['invalid_token', { error: 'invalid_token' }, 401],
    ['access_denied', { error: 'access_denied' }, 403],
    ['a nested code with status 200', { ok: false, reason: { code: 'invalid_grant' } }, 200],
  ])('ends the refresh token at once with %s', ([, body, status = 400]) => {
    expect(readAnswer('google', body, status)).toMatchObject({ weight: 'final' });
  });

  test.for<[string, unknown, number?]>([
    ['a page', '<html><p class="access_denied">invalid_grant</p></html>'],
    ['a page that forbids', '<html>Access denied</html>', 403],
    ['an empty body', ''],
    ['an empty object', {}],
    ['an unspecific code', { error: 'invalid_request', error_description: 'Access denied.' }],
    ['a code of the provider’s own', { error: 'token_is_gone' }],
    ['an address that holds a code', { error: 'x', error_uri: 'https://a.example/invalid_grant' }],
    ['a longer word', { error: 'invalid_grant_type' }],
    ['the status 401 alone', '', 401],
    ['the status 404 alone', 'Not found', 404],
    ['a code with status 200', { ok: false, error: 'token_is_gone' }, 200],
    ['a code deeper than is read', nest({ error: 'invalid_grant' }, 50)],
    ['a code after more than is read', { list: [...Array(5_000).fill('x'), 'invalid_grant'] }],
  ])('counts against the refresh token with %s', ([, body, status = 400]) => {
    expect(readAnswer('google', body, status)).toMatchObject({ weight: 'definite' });
  });

  test.for<[string, unknown, number]>([
    ...[408, 425, 429, 500, 502, 503, 504, 599].map((status): [string, unknown, number] => [
      `the status ${status}`,
      { error: 'invalid_grant' },
      status,
    ]),
    ['temporarily_unavailable', { error: 'temporarily_unavailable' }, 400],
    ['slow_down', { error: 'slow_down' }, 400],
    ['slow_down beside a final code', { errors: ['invalid_grant', 'slow_down'] }, 400],
    ['server_error', { error: { code: 'server_error' } }, 400],
    ['a rate limit in words', { message: 'API rate limit exceeded' }, 403],
    ['a page with status 200', '<html>invalid_grant</html>', 200],
    ['a list with status 200', [], 200],
    ['no access token', { token_type: 'Bearer' }, 200],
  ])('says nothing about the refresh token with %s', ([, body, status]) => {
    expect(readAnswer('google', body, status)).toMatchObject({ weight: 'none' });
  });

  test.for<[string, unknown, number]>([
    ['invalid_client', { error: 'invalid_client' }, 401],
    ['unauthorized_client', { error: 'unauthorized_client' }, 400],
    ['a nested code', { errors: [{ code: 'invalid_client' }] }, 401],
    ['a word about grants', { error: 'invalid_client', hint: 'invalid_grant' }, 400],
  ])('is about the client and not the refresh token with %s', ([, body, status]) => {
    expect(readAnswer('google', body, status)).toMatchObject({ weight: 'of_client' });
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

  test('must contain the provider’s issuer when the provider always sends it', () => {
    const issuer = 'https://id.example';
    expect(isFromProvider({ issuer, issuer_required: false }, null)).toBe(true);
    expect(isFromProvider({ issuer, issuer_required: true }, null)).toBe(false);
    expect(isFromProvider({ issuer, issuer_required: true }, issuer)).toBe(true);
    expect(isFromProvider({ issuer, issuer_required: false }, `${issuer}/`)).toBe(false);
    expect(isFromProvider({ issuer_required: false }, 'https://evil.example')).toBe(true);
  });
});
