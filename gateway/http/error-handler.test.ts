import { describe, expect, test } from 'vitest';

import { AppError } from '#errors';
import { methodNotAllowed, notFound, toAppError, toEnvelope } from './error-handler.ts';

describe('the body of an error', () => {
  test('contains the code, the message, the request id and public details', () => {
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

  test('leaves out details that are for components only', () => {
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

  test('keeps its own members if the details of the error have the same names', () => {
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
])("Fastify's error %s is answered with the code %s", ([code, expected]) => {
  const frameworkError = Object.assign(new Error('framework text'), { code });

  expect(toAppError(frameworkError)).toMatchObject({
    code: expected,
    message: expect.not.stringContaining('framework'),
  });
});

test.for([undefined, null, 'text', 17, new TypeError('x is not a function')])(
  'a thrown value that is neither an AppError nor from Fastify (%s) is answered with the code internal',
  (frameworkError) => {
    expect(toAppError(frameworkError).code).toBe('internal');
  },
);

test('an unknown address is answered with not_found, and a wrong method with the allowed methods', () => {
  expect(notFound().code).toBe('not_found');
  expect(methodNotAllowed(['GET', 'POST']).message).toContain('GET, POST');
});
