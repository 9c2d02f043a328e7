import { describe, expect, test } from 'vitest';

import { judgeDeliveryAttempt } from './verdict.ts';

describe('the verdict', () => {
  test.for<[status: number, kind: string]>([
    [200, 'delivered'],
    [204, 'delivered'],
    [302, 'failed'],
    [401, 'failed'],
    [410, 'gone'],
    [500, 'failed'],
  ])('on a delivery that is answered with status %i is %s', ([status, kind]) => {
    expect(judgeDeliveryAttempt({ status, body: '', challenge: null }).kind).toBe(kind);
  });

  test.for<[body: string, kind: string]>([
    ['c1', 'delivered'],
    ['c1\n', 'delivered'],
    ['{"challenge":"c1"}', 'delivered'],
    ['', 'failed'],
    ['ok', 'failed'],
    ['{"challenge":"c2"}', 'failed'],
    ['["c1"]', 'failed'],
    ['null', 'failed'],
  ])('on a verification that is answered with body %j is %s', ([body, kind]) => {
    expect(judgeDeliveryAttempt({ status: 200, body, challenge: 'c1' }).kind).toBe(kind);
  });

  test('ends the subscription when a verification is answered with 410', () => {
    expect(judgeDeliveryAttempt({ status: 410, body: 'c1', challenge: 'c1' }).kind).toBe('gone');
  });
});
