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

describe('scrubbing a text that arrives in pieces', () => {
  test.for([1, 2, 7, 16, 64, 100_000])(
    'removes an injected value from pieces of %s bytes',
    (size) => {
      const encodedValues = [
        value,
        JSON.stringify(value),
        Buffer.from(value).toString('base64'),
        Buffer.from(`user:${value}`).toString('base64url'),
        Buffer.from(value).toString('hex'),
        encodeURIComponent(value),
        value.replaceAll('/', '\\/'),
      ];
      const text = `before ${encodedValues.join(' between ')} after`;
      const clean = scrub(Buffer.from(text), size).toString();

      for (const each of encodedValues) expect(clean).not.toContain(each.replaceAll('"', ''));
      expect(clean).toMatch(/^before \[REDACTED\]/);
      expect(clean).toMatch(/\] after$/);
      expect(clean.split('between')).toHaveLength(encodedValues.length);
    },
  );

  test('removes the value in UTF-16', () => {
    const body = Buffer.from(`a${value}b`, 'utf16le');
    const clean = scrub(body, 5);
    expect(clean.includes(Buffer.from(value, 'utf16le'))).toBe(false);
    expect(clean.includes(Buffer.from(value.slice(0, 12), 'utf16le'))).toBe(false);
  });

  test('removes the longer of two values when one begins with the other', () => {
    for (const size of [1, 3, 9]) {
      const clean = scrub(Buffer.from('x abcd-efgh-ijkl y abcd z'), size, {
        values: ['abcd', 'abcd-efgh-ijkl'],
      });
      expect(clean.toString()).toBe('x [REDACTED] y [REDACTED] z');
    }
  });

  test('changes nothing in a text without the value', () => {
    const body = Buffer.from('nothing to see here '.repeat(1000));
    expect(scrub(body, 777).equals(body)).toBe(true);
    expect(scrub(body, 777, { values: [] }).equals(body)).toBe(true);
  });
});

describe('scrubbing binary data', () => {
  test('keeps the length of the data and all offsets in it', () => {
    const before = Buffer.from([0, 255, 1, 254]);
    const body = Buffer.concat([before, Buffer.from(value), before]);
    const clean = scrub(body, 3, { isText: false });

    expect(clean.length).toBe(body.length);
    expect(clean.includes(value)).toBe(false);
    expect(clean.subarray(-4)).toEqual(before);
  });

  test('does not remove a value of only a few characters', () => {
    const body = Buffer.from('GIF89a abcd');
    expect(scrub(body, 4, { values: ['abcd'], isText: false }).equals(body)).toBe(true);
  });
});
