import { describe, expect, test } from 'vitest';

import { judge } from './verdict.ts';

describe('judge', () => {
  test.for<[status: number, kind: string]>([
    [200, 'delivered'],
    [204, 'delivered'],
    [302, 'failed'],
    [401, 'failed'],
    [410, 'gone'],
    [500, 'failed'],
  ])('a delivery answered %i is %s', ([status, kind]) => {
    expect(judge({ status, body: '', challenge: null }).kind).toBe(kind);
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
  ])('a handshake answered %j is %s', ([body, kind]) => {
    expect(judge({ status: 200, body, challenge: 'c1' }).kind).toBe(kind);
  });

  test('a handshake whose endpoint is gone ends the subscription', () => {
    expect(judge({ status: 410, body: 'c1', challenge: 'c1' }).kind).toBe('gone');
  });
});
