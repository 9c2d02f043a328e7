import { describe, expect, test } from 'vitest';

import { AppError } from '#errors';
import type { ErrorCode, ErrorDetails } from '#errors';
import {
  backoffMsOf,
  endWithoutAnswer,
  outcomeOfExecutorError,
  outcomeOfPolicyError,
} from './outcome.ts';

const auditId = '0190a000-0000-7000-8000-000000000001';

describe('the outcome of an executor’s error during a replay', () => {
  const outcomeOf = (code: ErrorCode, details: ErrorDetails) =>
    outcomeOfExecutorError(new AppError(code, 'x', { details }), auditId);

  test.for<[when: string, code: ErrorCode, details: ErrorDetails, uncertain: boolean]>([
    ['no executor is running', 'unavailable', { component: 'executor', lost: false }, false],
    ['the executor is busy', 'unavailable', { component: 'executor', busy: true }, false],
    [
      "the caller's share of the executor is used up",
      'rate_limited',
      { component: 'executor' },
      false,
    ],
    ["the executor's answer was lost", 'unavailable', { component: 'executor', lost: true }, true],
    [
      'the executor lost the answer of a component it called',
      'unavailable',
      { component: 'auth', lost: false },
      true,
    ],
    ['the executor is unavailable for another reason', 'unavailable', {}, true],
    ['another attempt is still running', 'execution_in_progress', {}, true],
    ['the executor failed unexpectedly', 'internal', {}, true],
    ['the permit expired before it was read', 'unauthenticated', {}, false],
  ])(
    'is another attempt when %s (the call may have been sent: $3)',
    ([, code, details, uncertain]) => {
      expect(outcomeOf(code, details)).toMatchObject({ kind: 'again', uncertain });
    },
  );

  test.for<[when: string, code: ErrorCode]>([
    ['the request is not the approved request', 'approval_stale'],
    ['the secret is gone', 'credential_missing'],
    ['the upstream did not answer', 'upstream_unreachable'],
    ['it is unknown whether the call was sent', 'outcome_unknown'],
  ])('is the end of the replay with the same error when %s', ([, code]) => {
    expect(outcomeOf(code, {})).toMatchObject({ kind: 'failed', error: { error: code } });
  });
});

describe('the outcome of a policy error during a replay', () => {
  test.for<[code: ErrorCode, kind: string]>([
    ['unavailable', 'again'],
    ['internal', 'again'],
    ['approval_stale', 'refused'],
    ['identity_archived', 'refused'],
    ['action_disabled', 'refused'],
  ])('after the error %s is "%s"', ([code, kind]) => {
    expect(outcomeOfPolicyError(new AppError(code, 'x')).kind).toBe(kind);
  });
});

describe('the error of a replay that got no answer in time', () => {
  const lastError = { error: 'unavailable', message: 'x', details: {} };

  test.for<[mayHaveLeft: boolean, nonRead: boolean, error: string]>([
    [false, false, 'unavailable'],
    [false, true, 'unavailable'],
    [true, false, 'unavailable'],
    [true, true, 'outcome_unknown'],
  ])(
    'when the call may have been sent (%s) and is a non-read (%s), is %s',
    ([mayHaveLeft, nonRead, error]) => {
      expect(endWithoutAnswer(lastError, { mayHaveLeft, nonRead })).toMatchObject({
        kind: 'failed',
        error: { error },
      });
    },
  );
});

test('the pause before the next attempt of a replay doubles up to 30 seconds', () => {
  expect([0, 1, 2, 3, 8, 100].map((attempts) => backoffMsOf(attempts, 0.5))).toEqual([
    250, 250, 500, 1_000, 30_000, 30_000,
  ]);
  expect([0, 1].map((random) => backoffMsOf(1, random))).toEqual([200, 300]);
});
