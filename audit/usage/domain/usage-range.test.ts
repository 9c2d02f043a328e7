import { describe, expect, test } from 'vitest';

import { usageRangeOf } from './usage-range.ts';

const now = new Date('2026-11-24T12:34:56.000Z');

describe('the range of a usage request', () => {
  test.for([
    [{ bucket: 'day' }, '2026-10-25T12:00:00.000Z', '2026-11-24T13:00:00.000Z'],
    [{ bucket: 'hour' }, '2026-11-23T12:00:00.000Z', '2026-11-24T13:00:00.000Z'],
    [
      { bucket: 'day', from: '2026-11-24T09:59:59Z', to: '2026-11-24T10:00:00Z' },
      '2026-11-24T09:00:00.000Z',
      '2026-11-24T10:00:00.000Z',
    ],
    [
      { bucket: 'day', to: '2026-11-01T00:00:00Z' },
      '2026-10-02T00:00:00.000Z',
      '2026-11-01T00:00:00.000Z',
    ],
    // The longest time for which counts are kept, as a client computes it.
    [
      { bucket: 'day', from: '2026-08-26T12:34:50Z' },
      '2026-08-26T12:00:00.000Z',
      '2026-11-24T13:00:00.000Z',
    ],
  ] as const)('of %j is widened to whole hours', ([query, from, to]) => {
    const range = usageRangeOf(query, now);

    expect([range.from.toISOString(), range.to.toISOString()]).toEqual([from, to]);
  });

  test.for([
    [{ bucket: 'day', from: '2026-11-24T10:00:00Z', to: '2026-11-24T10:00:00Z' }, 'from', /before/],
    [{ bucket: 'day', from: '2026-11-25T10:00:00Z' }, 'from', /before/],
    [
      { bucket: 'day', from: '2026-08-20T00:00:00Z' },
      'from',
      /kept for 90 days; ask from 2026-08-26/,
    ],
    [{ bucket: 'day', from: '2026-11-24T00:00:00Z', to: '2027-11-24T00:00:00Z' }, 'to', /future/],
    [{ bucket: 'hour', from: '2026-11-17T00:00:00Z' }, 'bucket', /at most 7 days/],
  ] as const)('is refused for %j with an error about %s', ([query, field, message]) => {
    expect(() => usageRangeOf(query, now)).toThrow(
      expect.objectContaining({
        code: 'invalid_request',
        message: expect.stringMatching(message),
        details: { field },
      }),
    );
  });
});
