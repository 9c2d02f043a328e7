import { afterAll, describe, expect, test } from 'vitest';

import type { JsonValue } from '#contracts/vocabulary';
import { createJqPool } from '../jq/pool.ts';
import { findFailureByTemplate } from './template-failure.ts';

const jq = createJqPool();
afterAll(() => jq[Symbol.asyncDispose]());

const slackRule = {
  when: '.ok == false',
  code: '.error',
  kinds: { rate_limited: ['ratelimited'], credential_refused: ['invalid_auth'] },
  nothingDone: ['rate_limited' as const],
};

const findFailure = (
  rule: Parameters<typeof findFailureByTemplate>[1]['rule'],
  body: JsonValue,
  moreFields = {},
) =>
  findFailureByTemplate(
    { jq },
    {
      rule,
      jsonText: JSON.stringify(body),
      owner: 'user',
      identity: 'agent',
      answer: { status: 200, headers: {}, body, hadCredential: true, nowMs: 0, ...moreFields },
    },
  );

describe('a failure that only the template can detect', () => {
  test('is found by a plain condition, with the kind for its code', async () => {
    expect(await findFailure(slackRule, { ok: true })).toBeUndefined();
    expect(await findFailure(slackRule, { ok: false, error: 'no_text' })).toEqual({
      kind: 'failed',
      message: 'no_text',
    });
    expect(await findFailure(slackRule, { ok: false, error: 'invalid_auth' })).toMatchObject({
      kind: 'credential_refused',
    });
    const headers = { 'retry-after': '30' };
    expect(await findFailure(slackRule, { ok: false, error: 'ratelimited' }, { headers })).toEqual({
      kind: 'rate_limited',
      message: 'ratelimited',
      retry_after: 30,
      nothing_done: true,
    });
  });

  test('is not of the kind credential_refused when no credential was sent', async () => {
    const answer = await findFailure(
      slackRule,
      { ok: false, error: 'invalid_auth' },
      { hadCredential: false },
    );
    expect(answer?.kind).toBe('forbidden');
  });

  test('is found with jq when the condition is not a plain one', async () => {
    const rule = { when: 'any(.[]?; .isSuccess == false)' };
    expect(await findFailure(rule, [{ isSuccess: true }])).toBeUndefined();
    expect(await findFailure(rule, [{ isSuccess: false, errors: [{ message: 'No' }] }])).toEqual({
      kind: 'failed',
      message: 'No',
    });
  });

  test('is not found by a filter that fails, has no output or does not end', async () => {
    for (const when of ['.a.b.c', 'empty', 'error("x")', 'def f: f; f', '.a ==']) {
      expect(await findFailure({ when }, { a: 'text' })).toBeUndefined();
    }
    expect(await findFailure(slackRule, [])).toBeUndefined();
    const answer = { status: 200, headers: {}, body: null, hadCredential: true, nowMs: 0 };
    const unreadableAnswer = {
      rule: slackRule,
      answer,
      jsonText: undefined,
      owner: 'user',
      identity: 'agent',
    };
    expect(await findFailureByTemplate({ jq }, unreadableAnswer)).toBeUndefined();
  });
});
