import { describe, expect, test } from 'vitest';

import { createScrubber } from './scrub.ts';

const value = 'CANARY-0192?+/ "x"';
const bytes = Buffer.from(value);

describe('the scrubber', () => {
  const scrubber = createScrubber([value]);

  test.for<[spelling: string, text: string]>([
    ['raw', value],
    ['in JSON', JSON.stringify({ token: value })],
    ['in base64', bytes.toString('base64')],
    ['in base64url', bytes.toString('base64url')],
    ['in base64 behind one character', Buffer.from(`a${value}`).toString('base64')],
    ['in base64 behind a user name', Buffer.from(`me:${value}`).toString('base64')],
    ['in base64 with a prefix', Buffer.from(`Bearer ${value} end`).toString('base64')],
    ['in hex', bytes.toString('hex')],
    ['in upper-case hex', bytes.toString('hex').toUpperCase()],
    ['URL-encoded', encodeURIComponent(value)],
    ['form-encoded', new URLSearchParams({ a: value }).toString()],
  ])('removes a value %s', ([, text]) => {
    const clean = scrubber.text(`before ${text} after`);

    expect(clean).toContain('[REDACTED]');
    expect(clean).not.toContain('CANARY');
    expect(clean).toMatch(/^before .* after$/s);
  });

  test('finds what JSON escapes hide', () => {
    const hidden = `{"a":["\\u0043ANARY-0192?+\\/ \\"x\\""]}`;

    expect(scrubber.json(JSON.parse(hidden))).toEqual({ a: ['[REDACTED]'] });
  });

  test('removes the password of a pair alone', () => {
    expect(createScrubber(['ann:CANARY-pw']).text('{"user":"ann","pw":"CANARY-pw"}')).toBe(
      '{"user":"ann","pw":"[REDACTED]"}',
    );
  });

  test('leaves everything else alone, and what is too short to be a secret', () => {
    expect(scrubber.text('nothing here')).toBe('nothing here');
    expect(createScrubber(['a']).text('banana')).toBe('banana');
    expect(createScrubber([]).json({ a: 1 })).toEqual({ a: 1 });
  });
});
