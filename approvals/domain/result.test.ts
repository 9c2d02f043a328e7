import { describe, expect, test } from 'vitest';

import { callResult } from '#contracts/call';
import type { CallResult } from '#contracts/call';
import { capResult, resultBytesMax } from './result.ts';

const small: CallResult = {
  status_code: 200,
  headers: { 'Content-Type': 'application/json' },
  body: { ok: true },
  duration_ms: 12,
};
const large = 'x'.repeat(resultBytesMax + 1);

describe('capResult', () => {
  test('a result that fits stays as it is', () => {
    expect(capResult(small)).toBe(small);
  });

  test('a larger body is left out and named', () => {
    const capped = capResult({ ...small, body: large });

    expect(capped.body).toBeNull();
    expect(capped.body_omitted).toEqual({
      reason: 'too_large',
      content_type: 'application/json',
      size: resultBytesMax + 3,
    });
    expect(callResult.parse(capped)).toEqual(capped);
  });

  test("the filter's output stays when it alone fits", () => {
    expect(capResult({ ...small, body: large, filtered_body: [1] }).filtered_body).toEqual([1]);
    expect(capResult({ ...small, filtered_body: large })).not.toHaveProperty('filtered_body');
  });

  test('whatever is large, what is kept fits', () => {
    const everything: CallResult = {
      ...small,
      headers: { 'content-type': large, 'x-long': large },
      body: large,
      filtered_body: large,
      next: { page: large },
    };

    expect(JSON.stringify(capResult(everything)).length).toBeLessThan(resultBytesMax);
  });
});
