import { randomUUID } from 'node:crypto';
import { describe, expect, test } from 'vitest';

import { createByteScrubber } from './scrub-bytes.ts';

const value = `CANARY-${randomUUID()}/ü=`;

function scrub(body: Buffer, size: number, { values = [value], isText = true } = {}): Buffer {
  const scrubber = createByteScrubber(values, { isText });
  const parts: Uint8Array[] = [];
  for (let at = 0; at < body.length; at += size) {
    parts.push(scrubber.push(body.subarray(at, at + size)));
  }
  return Buffer.concat([...parts, scrubber.end()]);
}

describe('a text that passes by in pieces', () => {
  test.for([1, 2, 7, 16, 64, 100_000])('loses an injected value (pieces of %s)', (size) => {
    const spelled = [
      value,
      JSON.stringify(value),
      Buffer.from(value).toString('base64'),
      Buffer.from(`user:${value}`).toString('base64url'),
      Buffer.from(value).toString('hex'),
      encodeURIComponent(value),
      value.replaceAll('/', '\\/'),
    ];
    const text = `before ${spelled.join(' between ')} after`;
    const clean = scrub(Buffer.from(text), size).toString();

    for (const each of spelled) expect(clean).not.toContain(each.replaceAll('"', ''));
    expect(clean).toMatch(/^before \[REDACTED\]/);
    expect(clean).toMatch(/\] after$/);
    expect(clean.split('between')).toHaveLength(spelled.length);
  });

  test('loses it in UTF-16 too', () => {
    const body = Buffer.from(`a${value}b`, 'utf16le');
    const clean = scrub(body, 5);
    expect(clean.includes(Buffer.from(value, 'utf16le'))).toBe(false);
    expect(clean.includes(Buffer.from(value.slice(0, 12), 'utf16le'))).toBe(false);
  });

  test('a value that another begins with leaves nothing of the longer one', () => {
    for (const size of [1, 3, 9]) {
      const clean = scrub(Buffer.from('x abcd-efgh-ijkl y abcd z'), size, {
        values: ['abcd', 'abcd-efgh-ijkl'],
      });
      expect(clean.toString()).toBe('x [REDACTED] y [REDACTED] z');
    }
  });

  test('stays as it is without one', () => {
    const body = Buffer.from('nothing to see here '.repeat(1000));
    expect(scrub(body, 777).equals(body)).toBe(true);
    expect(scrub(body, 777, { values: [] }).equals(body)).toBe(true);
  });
});

describe('bytes that are no text', () => {
  test('keep their length and every offset', () => {
    const before = Buffer.from([0, 255, 1, 254]);
    const body = Buffer.concat([before, Buffer.from(value), before]);
    const clean = scrub(body, 3, { isText: false });

    expect(clean.length).toBe(body.length);
    expect(clean.includes(value)).toBe(false);
    expect(clean.subarray(-4)).toEqual(before);
  });

  test('are not ruined for a value of a few characters', () => {
    const body = Buffer.from('GIF89a abcd');
    expect(scrub(body, 4, { values: ['abcd'], isText: false }).equals(body)).toBe(true);
  });
});
