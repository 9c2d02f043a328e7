import { describe, expect, test } from 'vitest';

import { callFailure } from '#contracts/failure';
import type { FailureKind } from '#contracts/failure';
import type { JsonValue } from '#contracts/vocabulary';
import { failureByStatus } from './failure.ts';
import { findMissingScopes } from './missing-scopes.ts';
import { findProviderWords } from './provider-words.ts';

const nowMs = Date.parse('2026-11-21T12:00:00Z');
const answerOf = (
  status: number,
  { headers = {}, body = null }: { headers?: Record<string, string>; body?: JsonValue } = {},
) => ({ status, headers, body, hadCredential: true, nowMs });

describe('the failure of an answer', () => {
  test.for<[number, FailureKind]>([
    [400, 'invalid'],
    [401, 'credential_refused'],
    [402, 'failed'],
    [403, 'forbidden'],
    [404, 'not_found'],
    [409, 'conflict'],
    [410, 'not_found'],
    [422, 'invalid'],
    [429, 'rate_limited'],
    [500, 'failed'],
    [503, 'unavailable'],
    [522, 'unavailable'],
    [599, 'failed'],
  ])(
    'with status %s is of the kind %s, and has a message even without a body',
    ([status, kind]) => {
      const failure = failureByStatus(answerOf(status));
      expect(failure).toMatchObject({ kind, message: expect.stringContaining(String(status)) });
      expect(callFailure.parse(failure)).toEqual(failure);
    },
  );

  test('is undefined for a status below 400, whatever the body contains', () => {
    for (const status of [200, 204, 302, 304])
      expect(failureByStatus(answerOf(status, { body: { error: 'x' } }))).toBeUndefined();
  });

  test('is not of the kind credential_refused when the request carried no credential', () => {
    const failure = failureByStatus({ ...answerOf(401), hadCredential: false });
    expect(failure).toMatchObject({ kind: 'forbidden' });
  });

  test('has the wait that the provider asks for, in seconds', () => {
    const retryAfterOf = (status: number, headers: Record<string, string>) =>
      failureByStatus(answerOf(status, { headers }))?.retry_after;
    expect(retryAfterOf(429, { 'retry-after': '17' })).toBe(17);
    expect(retryAfterOf(503, { 'retry-after': 'Sat, 21 Nov 2026 12:01:00 GMT' })).toBe(60);
    expect(retryAfterOf(429, { 'ratelimit-reset': '30' })).toBe(30);
    expect(retryAfterOf(429, { 'x-ratelimit-reset': String(nowMs / 1000 + 90) })).toBe(90);
    expect(retryAfterOf(429, { 'x-ratelimit-reset': '1' })).toBe(1);
    expect(retryAfterOf(429, { 'x-rate-limit-reset-after': '25' })).toBe(25);
    expect(retryAfterOf(429, { 'x-ratelimit-reset-after': '1.337' })).toBe(2);
    expect(retryAfterOf(429, { ratelimit: '"default";r=0;t=25' })).toBe(25);
    expect(retryAfterOf(429, { ratelimit: 'limit=100, remaining=0, reset=26' })).toBe(26);
    expect(retryAfterOf(429, { ratelimit: '"default";r=0;t=never' })).toBeUndefined();
    expect(retryAfterOf(429, { 'retry-after': '999999999' })).toBe(31_536_000);
    expect(retryAfterOf(429, { 'retry-after': 'soon' })).toBeUndefined();
    expect(retryAfterOf(404, { 'x-ratelimit-reset': '30' })).toBeUndefined();
  });

  test('is of the kind rate_limited when a status 403 comes with the headers of a used-up limit', () => {
    const headers = { 'x-ratelimit-remaining': '0', 'x-ratelimit-reset': String(nowMs / 1000 + 5) };
    const failure = failureByStatus(answerOf(403, { headers }));
    expect(failure).toMatchObject({ kind: 'rate_limited', retry_after: 5 });
    expect(failure?.nothing_done).toBeUndefined();
  });

  test.each([
    { 'x-rate-limit-remaining': '0' },
    { 'ratelimit-remaining': '0' },
    { ratelimit: '"default";r=0;t=25' },
    { ratelimit: 'limit=100, remaining=0, reset=26' },
  ])('is of the kind rate_limited with status 403 and %j', (headers) => {
    expect(failureByStatus(answerOf(403, { headers }))?.kind).toBe('rate_limited');
  });

  test.each([{ 'x-rate-limit-remaining': '10' }, { ratelimit: '"default";r=50;t=25' }])(
    'is of the kind forbidden with status 403 and %j',
    (headers) => {
      expect(failureByStatus(answerOf(403, { headers }))?.kind).toBe('forbidden');
    },
  );

  test('has nothing_done only with status 429', () => {
    expect(failureByStatus(answerOf(429))).toMatchObject({ nothing_done: true });
    for (const status of [400, 409, 500, 503])
      expect(failureByStatus(answerOf(status))?.nothing_done).toBeUndefined();
  });
});

describe('the error message of a provider', () => {
  test.for<[JsonValue, string | undefined]>([
    [{ message: 'Not Found', documentation_url: 'https://docs.example' }, 'Not Found'],
    [
      { error: { code: 403, message: 'Insufficient Permission', errors: [] } },
      'Insufficient Permission',
    ],
    [{ error: 'invalid_grant', error_description: 'Token expired' }, 'Token expired'],
    [{ ok: false, error: 'channel_not_found' }, 'channel_not_found'],
    [{ errors: [{ message: 'Field "x" is unknown' }] }, 'Field "x" is unknown'],
    [
      { errorMessages: [], errors: { summary: 'You must specify a summary.' } },
      'summary: You must specify a summary.',
    ],
    [[{ message: 'bad field', errorCode: 'INVALID_FIELD' }], 'bad field'],
    [{ type: 'about:blank', title: 'Gone', detail: 'It was deleted' }, 'It was deleted'],
    [{ errors: { title: ["can't be blank"] } }, "can't be blank"],
    ['  plain\n text  ', 'plain text'],
    [{ message: '' }, undefined],
    [{}, undefined],
    [null, undefined],
    [42, undefined],
  ])('for the body %j is %j', ([body, words]) => {
    expect(findProviderWords(body, 'application/json')).toBe(words);
  });

  test('for an HTML page is the title of the page', () => {
    const page = '<!doctype html><html><head><title>502 Bad Gateway</title></head><body>…';
    expect(findProviderWords(page, 'text/html')).toBe('502 Bad Gateway');
    expect(findProviderWords('<html><body>no</body></html>', 'text/html')).toBeUndefined();
  });

  test('is one short line without hidden characters', () => {
    const words = findProviderWords({ message: `a\u202eb\u0007\n${'x'.repeat(2_000)}` }, '') ?? '';
    expect(words).toMatch(/^a\\u202eb\\u0007 x+$/);
    expect(words.length).toBeLessThanOrEqual(500);
  });

  test('is searched for only to a limited depth', () => {
    let body: JsonValue = 'deep';
    for (let level = 0; level < 2_000; level += 1) body = { error: body };
    expect(findProviderWords(body, '')).toBeUndefined();
  });
});

describe('missing scopes', () => {
  test.for<[string, number, JsonValue]>([
    ['Dropbox', 401, { error: { '.tag': 'missing_scope', required_scope: 'sharing.read' } }],
    ['Zoom', 400, { code: 4711, message: 'x, does not contain scopes:[sharing.read].' }],
  ])('do not count as a refused credential, whatever the status of %s is', ([, status, body]) => {
    const answer = { status, headers: {}, body, hadCredential: true, nowMs: 0 };
    expect(failureByStatus(answer)).toMatchObject({
      kind: 'forbidden',
      missing_scopes: ['sharing.read'],
    });
    expect(failureByStatus({ ...answer, body: { error: 'x' } })?.kind).not.toBe('forbidden');
  });

  test.for<[string, Record<string, string>, JsonValue, string[] | undefined]>([
    [
      'a challenge',
      { 'www-authenticate': 'Bearer error="insufficient_scope", scope="read write"' },
      null,
      ['read', 'write'],
    ],
    [
      "GitHub's headers",
      { 'x-oauth-scopes': 'gist', 'x-accepted-oauth-scopes': 'repo, admin' },
      null,
      ['repo'],
    ],
    [
      'GitHub, where one is granted',
      { 'x-oauth-scopes': 'repo', 'x-accepted-oauth-scopes': 'repo, admin' },
      null,
      undefined,
    ],
    ['GitLab', {}, { error: 'insufficient_scope', scope: 'api' }, ['api']],
    [
      'Slack',
      {},
      { ok: false, error: 'missing_scope', needed: 'chat:write', provided: 'x' },
      ['chat:write'],
    ],
    [
      'HubSpot',
      {},
      { category: 'MISSING_SCOPES', errors: [{ context: { requiredScopes: ['crm'] } }] },
      ['crm'],
    ],
    [
      'Google',
      {
        'www-authenticate':
          'Bearer realm="https://accounts.google.com/", error="insufficient_scope", scope="https://www.googleapis.com/auth/calendar"',
      },
      { error: { code: 403, status: 'PERMISSION_DENIED' } },
      ['https://www.googleapis.com/auth/calendar'],
    ],
    [
      'Google, in its other spelling',
      {
        'www-authenticate':
          'Bearer realm="https://accounts.google.com/AuthSubRequest", error=insufficient_scope, scope="https://www.googleapis.com/auth/drive"',
      },
      null,
      ['https://www.googleapis.com/auth/drive'],
    ],
    [
      'Dropbox',
      {},
      {
        error_summary: 'missing_scope/',
        error: { '.tag': 'missing_scope', required_scope: 'files.metadata.read' },
      },
      ['files.metadata.read'],
    ],
    [
      'Zoom, of which one is enough',
      {},
      {
        code: 4711,
        message:
          'Invalid access token, does not contain scopes:[user:read:list_users:admin, user:read:list_users].',
      },
      ['user:read:list_users'],
    ],
    [
      'Figma',
      {},
      {
        status: 403,
        err: 'Invalid scope(s): files:read. This endpoint requires the file_comments:write scope',
      },
      ['file_comments:write'],
    ],
    [
      'Figma, of which one is enough',
      {},
      { message: 'This endpoint requires the file_content:read or files:read scope' },
      ['files:read'],
    ],
    [
      'Shopify',
      {},
      { errors: '[API] This action requires merchant approval for read_orders scope.' },
      ['read_orders'],
    ],
    [
      'Auth0',
      {},
      {
        errorCode: 'insufficient_scope',
        message: 'Insufficient scope, expected any of: read:users,read:user_idp_tokens',
      },
      ['read:users'],
    ],
    ['words without a scope', {}, { message: 'does not contain scopes:[]' }, undefined],
    [
      'a challenge about something else',
      { 'www-authenticate': 'Bearer scope="read"' },
      null,
      undefined,
    ],
    ['texts that are no scopes', {}, { error: 'missing_scope', needed: 'a\u202eb' }, undefined],
    ['nothing', {}, [], undefined],
  ])('are read from %s', ([, headers, body, scopes]) => {
    expect(findMissingScopes(headers, body)).toEqual(scopes);
  });
});
