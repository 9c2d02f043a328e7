import { describe, expect, test } from 'vitest';

import { AppError } from '#errors';
import type { ErrorCode, ErrorDetails } from '#errors';
import {
  backoffMs,
  endWithoutAnswer,
  outcomeOfExecutorError,
  outcomeOfPolicyError,
} from './outcome.ts';

const auditId = '0190a000-0000-7000-8000-000000000001';

describe('outcomeOfExecutorError', () => {
  test.for<
    [rule: string, code: ErrorCode, details: ErrorDetails, kind: string, uncertain?: boolean]
  >([
    ['nobody listens', 'unavailable', { component: 'executor', lost: false }, 'again', false],
    ['the executor is full', 'unavailable', { component: 'executor', busy: true }, 'again', false],
    ['it has no room for the caller', 'rate_limited', { component: 'executor' }, 'again', false],
    ['the answer was lost', 'unavailable', { component: 'executor', lost: true }, 'again', true],
    [
      'the executor lost somebody behind it',
      'unavailable',
      { component: 'auth', lost: false },
      'again',
      true,
    ],
    ['unavailable for a reason of its own', 'unavailable', {}, 'again', true],
    ['another attempt is in flight', 'execution_in_progress', {}, 'again', true],
    ['the executor failed in a way nobody foresaw', 'internal', {}, 'again', true],
    ['the permit was read too late', 'unauthenticated', {}, 'again', false],
    ['the request is not the approved one', 'approval_stale', {}, 'failed'],
    ['the secret is gone', 'credential_missing', {}, 'failed'],
    ['the upstream does not answer', 'upstream_unreachable', {}, 'failed'],
    ['nobody can say whether it was sent', 'outcome_unknown', {}, 'failed'],
  ])('%s', ([, code, details, kind, uncertain]) => {
    const outcome = outcomeOfExecutorError(new AppError(code, 'x', { details }), auditId);

    expect(outcome.kind).toBe(kind);
    if (outcome.kind === 'again') expect(outcome.uncertain).toBe(uncertain);
    if (outcome.kind === 'failed') expect(outcome.error.error).toBe(code);
  });
});

describe('outcomeOfPolicyError', () => {
  test.for<[code: ErrorCode, kind: string]>([
    ['unavailable', 'again'],
    ['internal', 'again'],
    ['approval_stale', 'refused'],
    ['identity_archived', 'refused'],
    ['action_disabled', 'refused'],
  ])('%s: %s', ([code, kind]) => {
    expect(outcomeOfPolicyError(new AppError(code, 'x')).kind).toBe(kind);
  });
});

describe('endWithoutAnswer', () => {
  const last = { error: 'unavailable', message: 'x', details: {} };

  test.for<[mayHaveLeft: boolean, nonRead: boolean, error: string]>([
    [false, false, 'unavailable'],
    [false, true, 'unavailable'],
    [true, false, 'unavailable'],
    [true, true, 'outcome_unknown'],
  ])('may have left: %s, non-read: %s: %s', ([mayHaveLeft, nonRead, error]) => {
    expect(endWithoutAnswer(last, { mayHaveLeft, nonRead })).toMatchObject({
      kind: 'failed',
      error: { error },
    });
  });
});

test('backoffMs doubles up to half a minute', () => {
  expect([0, 1, 2, 3, 8, 100].map((attempts) => backoffMs(attempts, 0.5))).toEqual([
    250, 250, 500, 1_000, 30_000, 30_000,
  ]);
  expect([0, 1].map((random) => backoffMs(1, random))).toEqual([200, 300]);
});
