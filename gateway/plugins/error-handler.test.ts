import { describe, expect, test } from 'vitest';

import { AppError } from '#errors';
import { methodNotAllowed, notFound, toAppError, toEnvelope } from './error-handler.ts';

describe('the error envelope', () => {
  test('carries the code, the sentence, the request id and what else helps', () => {
    const error = new AppError('unknown_action', 'No such action.', {
      details: { did_you_mean: 'issues.get' },
    });

    expect(toEnvelope(error, 'r1')).toEqual({
      error: 'unknown_action',
      message: 'No such action.',
      request_id: 'r1',
      did_you_mean: 'issues.get',
    });
  });

  test('keeps to itself what components tell each other', () => {
    const details = { component: 'policy', lost: true, busy: true };

    expect(toEnvelope(new AppError('unavailable', 'm', { details }), 'r1')).toEqual({
      error: 'unavailable',
      message: 'm',
      request_id: 'r1',
      component: 'policy',
    });
    expect(toEnvelope(new AppError('conflict', 'm', { details }), 'r1')).toEqual({
      error: 'conflict',
      message: 'm',
      request_id: 'r1',
    });
  });

  test('cannot be overwritten by details', () => {
    const details = { error: 'x', message: 'x', request_id: 'x' };

    expect(toEnvelope(new AppError('conflict', 'm', { details }), 'r1')).toEqual({
      error: 'conflict',
      message: 'm',
      request_id: 'r1',
    });
  });
});

test.for<[code: string, expected: string]>([
  ['FST_ERR_CTP_BODY_TOO_LARGE', 'too_large'],
  ['FST_ERR_CTP_INVALID_MEDIA_TYPE', 'unsupported_media_type'],
  ['FST_ERR_CTP_INVALID_CONTENT_LENGTH', 'invalid_request'],
  ['FST_ERR_BAD_URL', 'invalid_request'],
  ['FST_ERR_SOMETHING_NEW', 'internal'],
])('%s of the framework becomes %s', ([code, expected]) => {
  const thrown = Object.assign(new Error('framework text'), { code });

  expect(toAppError(thrown)).toMatchObject({
    code: expected,
    message: expect.not.stringContaining('framework'),
  });
});

test.for([undefined, null, 'text', 17, new TypeError('x is not a function')])(
  'whatever else is thrown (%s) is internal',
  (thrown) => {
    expect(toAppError(thrown).code).toBe('internal');
  },
);

test('addresses that are none, and methods that are not accepted, have sentences', () => {
  expect(notFound().code).toBe('not_found');
  expect(methodNotAllowed(['GET', 'POST']).message).toContain('GET, POST');
});
