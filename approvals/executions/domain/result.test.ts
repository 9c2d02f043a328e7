import { describe, expect, test } from 'vitest';

import { callResult } from '#contracts/call';
import type { CallResult } from '#contracts/call';
import { capResult, resultBytesMax } from './result.ts';

const smallResult: CallResult = {
  status_code: 200,
  headers: { 'Content-Type': 'application/json' },
  body: { ok: true },
  duration_ms: 12,
};
const largeBody = 'x'.repeat(resultBytesMax + 1);

describe('the stored result of a replay', () => {
  test('is the unchanged result if it fits into the limit', () => {
    expect(capResult(smallResult)).toBe(smallResult);
  });

  test('has no body if the body is too large, and is marked so', () => {
    const cappedResult = capResult({ ...smallResult, body: largeBody });

    expect(cappedResult.body).toBeNull();
    expect(cappedResult.body_omitted).toEqual({
      reason: 'too_large',
      content_type: 'application/json',
      size: resultBytesMax + 3,
    });
    expect(callResult.parse(cappedResult)).toEqual(cappedResult);
  });

  test('has the output of the filter if that fits without the body', () => {
    expect(
      capResult({ ...smallResult, body: largeBody, filtered_body: [1] }).filtered_body,
    ).toEqual([1]);
    expect(capResult({ ...smallResult, filtered_body: largeBody })).not.toHaveProperty(
      'filtered_body',
    );
  });

  test('is within the limit, whichever part of the result is large', () => {
    const fullResult: CallResult = {
      ...smallResult,
      headers: { 'content-type': largeBody, 'x-long': largeBody },
      body: largeBody,
      filtered_body: largeBody,
      next: { page: largeBody },
    };

    expect(JSON.stringify(capResult(fullResult)).length).toBeLessThan(resultBytesMax);
  });
});
