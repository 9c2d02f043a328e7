import { describe, expect, test } from 'vitest';

import { AppError } from '#errors';
import { parseTtl } from './index.ts';

describe('the ttl of a remembered decision (parseTtl)', () => {
  test.for<[ttl: string, seconds: number]>([
    ['60s', 60],
    ['1m', 60],
    ['24h', 86_400],
    ['30d', 2_592_000],
    ['365d', 31_536_000],
    ['1d12h', 129_600],
    ['1h30m15s', 5_415],
    ['0d90s', 90],
    ['007m', 420],
  ])('of %s means %i seconds', ([ttl, seconds]) => {
    expect(parseTtl(ttl)).toBe(seconds);
  });

  test.for([
    '',
    '0s',
    '59s',
    '365d1s',
    '9999d',
    '999999999d999999999h',
    '-1h',
    '1.5h',
    '1e3h',
    '24',
    '24H',
    '1w',
    '1h1h',
    '30m1h',
    ' 24h',
    '24h ',
    '24h\n',
    '2 4h',
    '٢h',
    'forever',
  ])('cannot be %j', (ttl) => {
    expect(() => parseTtl(ttl)).toThrow(AppError);
    expect(() => parseTtl(ttl)).toThrow(expect.objectContaining({ code: 'invalid_params' }));
  });
});
