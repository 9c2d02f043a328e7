import { describe, expect, test } from 'vitest';

import { parseDuration } from './duration.ts';

describe('a duration', () => {
  test.for<[text: string, seconds: number]>([
    ['45s', 45],
    ['90m', 5_400],
    ['24h', 86_400],
    ['1d12h', 129_600],
    ['1h30m15s', 5_415],
    ['0s', 0],
  ])('%s is %i seconds', ([text, seconds]) => {
    expect(parseDuration(text)).toBe(seconds);
  });

  test.for(['', '5', 'h', '-1h', '1.5h', '1 h', '1w', '1h ', '1H', '12345678901s'])(
    '%j is not a duration',
    (text) => {
      expect(parseDuration(text)).toBeUndefined();
    },
  );
});
