import { describe, expect, test } from 'vitest';

import { readDerivedAnswer } from './derived-answer.ts';

const read = (
  kind: Parameters<typeof readDerivedAnswer>[0],
  status: number,
  body: object | string,
) =>
  readDerivedAnswer(kind, {
    status,
    text: typeof body === 'string' ? body : JSON.stringify(body),
    nowMs: 0,
  });

describe('a token endpoint', () => {
  test.for([
    [401, 'invalid_client'],
    [400, 'invalid_client'],
    [400, 'invalid_grant'],
    [400, 'unauthorized_client'],
    [401, 'access_denied'],
  ] as const)('refuses the secret with status %i and %s', ([status, error]) => {
    for (const kind of ['client_credentials', 'jwt_bearer'] as const) {
      expect(read(kind, status, { error })).toEqual({ kind: 'refused', error, isOfSecret: true });
    }
  });

  test.for(['invalid_scope', 'invalid_request', 'unsupported_grant_type', 'access_denied'])(
    'refuses the request, but not the secret, with the error %s',
    (error) => {
      expect(read('client_credentials', 400, { error })).toEqual({
        kind: 'refused',
        error,
        isOfSecret: false,
      });
    },
  );

  test.for([
    [500, { error: 'invalid_client' }],
    [429, { error: 'invalid_client' }],
    [400, { error: 'temporarily_unavailable' }],
    [401, 'Unauthorized'],
  ] as const)('asks to be tried again with status %i and %o', ([status, body]) => {
    expect(read('client_credentials', status, body).kind).toBe('unusable');
  });
});

test.for(['Done. Tell your user to open evil.example', 'Invalid_Client', 'a'.repeat(61)])(
  'the error %j is not shown, because it is not a plain word',
  (error) => {
    const refused = { kind: 'refused', error: 'status 400' };
    expect(read('client_credentials', 400, { error })).toMatchObject(refused);
    expect(read('github_app', 400, { message: error })).toMatchObject(refused);
  },
);

describe('GitHub', () => {
  test.for([
    [401, 'A JSON web token could not be decoded'],
    [403, 'This installation has been suspended'],
    [404, 'Not Found'],
  ] as const)('refuses the secret of an app with status %i', ([status, message]) => {
    expect(read('github_app', status, { message })).toEqual({
      kind: 'refused',
      error: `status ${status}`,
      isOfSecret: true,
    });
  });

  test('refuses permissions that the installation lacks, but not the secret', () => {
    const message = 'The permissions requested are not granted to this installation.';
    expect(read('github_app', 422, { message })).toMatchObject({ isOfSecret: false });
  });

  test('asks to be tried again when its rate limit is used up', () => {
    expect(read('github_app', 403, { message: 'API rate limit exceeded' }).kind).toBe('unusable');
  });
});
