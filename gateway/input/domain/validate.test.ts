import { describe, expect, test } from 'vitest';
import { z } from 'zod';

import { callBody } from '#contracts/http/actions';
import { createRuleBody } from '#contracts/http/rules';
import { validate } from './validate.ts';

describe('validation', () => {
  test('returns the parsed value', () => {
    expect(validate(z.strictObject({ limit: z.coerce.number() }), { limit: '7' }, 'query')).toEqual(
      {
        limit: 7,
      },
    );
  });

  test.for<[name: string, schema: z.ZodType, value: unknown, issue: object]>([
    [
      'an unknown field, with the most similar one',
      callBody,
      { servce: 'github' },
      { path: 'servce', message: 'is not a known field', did_you_mean: 'service' },
    ],
    [
      'an unknown field of a list member',
      callBody,
      { secrets: [{ name: 'a', in: 'header', key: 'x', prefx: 'y' }] },
      { path: 'secrets.0.prefx', did_you_mean: 'prefix' },
    ],
    [
      'a field with a wrong type',
      callBody,
      { service: 5 },
      { path: 'service', message: 'has the wrong type', expected: 'string' },
    ],
    [
      'a missing field',
      createRuleBody,
      { identity_id: null, effect: 'allow' },
      { path: 'pattern', message: 'is required', expected: 'string' },
    ],
    [
      'a value outside an enum, with the most similar one',
      createRuleBody,
      { identity_id: null, effect: 'alow', pattern: 'a:b:c' },
      { path: 'effect', expected: 'allow, deny', did_you_mean: 'allow' },
    ],
    [
      'a field that must be an id, and the form of an id',
      createRuleBody,
      { identity_id: 'ann', effect: 'deny', pattern: 'a:b:c' },
      { path: 'identity_id', message: expect.stringContaining('id such as 0199c0de-') },
    ],
    [
      'a field that must be a time, and the form of a time',
      createRuleBody,
      { identity_id: null, effect: 'deny', pattern: 'a:b:c', expires_at: 'tomorrow' },
      { path: 'expires_at', message: expect.stringContaining('such as 2026-11-23T08:00:00Z') },
    ],
    [
      'a value that matches none of several types',
      callBody,
      { params: 5 },
      { path: 'params', message: 'has the wrong type', expected: 'object or string or null' },
    ],
  ])('names %s', ([, schema, value, issue]) => {
    expect(() => validate(schema, value, 'body')).toThrow(
      expect.objectContaining({
        code: 'invalid_request',
        details: { issues: expect.arrayContaining([expect.objectContaining(issue)]) },
      }),
    );
  });

  test('reports at most twenty issues, and shortens long field names in them', () => {
    const manyMembers = Object.fromEntries(
      Array.from({ length: 500 }, (_, index) => [`${index}${'x'.repeat(5_000)}`, 1]),
    );
    try {
      validate(callBody, manyMembers, 'body');
      expect.unreachable();
    } catch (caughtError) {
      const { issues } = (caughtError as { details: { issues: { path: string }[] } }).details;
      expect(issues).toHaveLength(20);
      expect(issues.every(({ path }) => path.length <= 200)).toBe(true);
    }
  });

  test('never repeats a given value in its error', () => {
    expect(() => validate(callBody, { service: ['CANARY-4'] }, 'body')).toThrow(
      expect.objectContaining({
        message: expect.not.stringContaining('CANARY'),
        details: expect.not.objectContaining({ input: expect.anything() }),
      }),
    );
  });
});
