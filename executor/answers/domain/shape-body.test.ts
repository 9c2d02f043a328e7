import { describe, expect, test } from 'vitest';

import { createScrubber } from './scrub.ts';
import { shapeBody, shapeHeaders } from './shape-body.ts';

const emptyScrubber = createScrubber([]);

function shape(
  text: string | Uint8Array,
  contentType: string,
  lost: 'too_large' | 'incomplete' | null = null,
) {
  const body = typeof text === 'string' ? Buffer.from(text) : text;
  const received = { status: 200, headers: [['content-length', '9']] as const, body, lost };
  return shapeBody(received, { contentType, binary: false, scrubber: emptyScrubber });
}

describe('the body of an answer', () => {
  test('is JSON when the upstream sent JSON, else text, else null', () => {
    expect(shape('{"a":1}', 'application/json; charset=utf-8').body).toEqual({ a: 1 });
    expect(shape('{"a":1}', 'application/vnd.api+json').body).toEqual({ a: 1 });
    expect(shape('{"a":1}', '').body).toEqual({ a: 1 });
    expect(shape('{"a":1}', 'text/plain').body).toBe('{"a":1}');
    expect(shape('{"a"', 'application/json').body).toBe('{"a"');
    expect(shape('', 'application/json')).toEqual({ body: null });
  });

  test('keeps a __proto__ key as an ordinary key', () => {
    const { body } = shape('{"__proto__":{"x":1},"b":"\\n"}', 'application/json');

    expect(Object.keys(body as object)).toEqual(['__proto__', 'b']);
    expect(({} as Record<string, unknown>)['x']).toBeUndefined();
  });

  test('is text when its JSON is nested too deeply', () => {
    const deeplyNestedJson = '['.repeat(5_000) + ']'.repeat(5_000);

    expect(shape(deeplyNestedJson, 'application/json').body).toBe(deeplyNestedJson);
  });

  test.for(['{"a":1,"a":2}', '{"b":[{"a":1,"\\u0061":{}}]}'])(
    'is text when an object in it has two members with the same name: %s',
    (text) => {
      expect(shape(text, 'application/json')).toEqual({ body: text });
    },
  );

  test('is JSON when the same name occurs in several objects, or a string contains colons', () => {
    const text = '{"a":{"a":":"},"b":[{"a":"\\":"}]}';

    expect(shape(text, 'application/json').body).toEqual(JSON.parse(text));
  });

  test('contains numbers that a JSON parser would change as strings of digits, and is marked so', () => {
    const text = '{"id":9007199254740993,"n":1}';

    expect(shape(text, 'application/json')).toEqual({
      body: { id: '9007199254740993', n: 1 },
      jsonText: text,
      hasNumbersAsText: true,
    });
  });

  test('stays JSON when the credential that was removed from it was a number', () => {
    const shaped = shapeBody(
      { status: 200, headers: [], body: Buffer.from('{"pin":12345678}'), lost: null },
      {
        contentType: 'application/json',
        binary: false,
        scrubber: createScrubber(['12345678']),
      },
    );

    expect(shaped).toEqual({ body: { pin: '[REDACTED]' }, jsonText: '{"pin":"[REDACTED]"}' });
  });

  test('is decoded with the charset that its headers name', () => {
    expect(shape(Buffer.from('ü', 'latin1'), 'text/plain; charset=iso-8859-1').body).toBe('ü');
    const japanese = Buffer.from([0x93, 0xfa, 0x96, 0x7b]);
    expect(shape(japanese, 'text/html; charset="Shift_JIS"').body).toBe('日本');
    expect(
      shape(Buffer.from('{"a":"ü"}', 'utf16le'), 'application/json; charset=utf-16le').body,
    ).toEqual({ a: 'ü' });
    expect(shape(Buffer.from('\ufeff{"a":1}'), 'application/json').body).toEqual({ a: 1 });
    expect(shape(Buffer.from('ü'), 'text/plain; charset=nonsense').body).toBe('ü');
  });

  test('becomes a file when it is binary, and a byte order mark selects the charset of a text', () => {
    expect(shape(Uint8Array.of(0xff, 0xd8), 'image/jpeg')).toEqual({
      body: null,
      file: { isText: false },
    });
    const compressedAnswer = {
      status: 200,
      headers: [['Content-Encoding', 'br']] as const,
      lost: null,
    };
    const body = Buffer.from('looks like text');
    const as = { contentType: 'text/plain', binary: false, scrubber: emptyScrubber };
    expect(shapeBody({ ...compressedAnswer, body }, as).omitted?.reason).toBe('encoded');
    expect(shape(Uint8Array.of(0xff, 0xfd), 'text/plain').file).toEqual({ isText: true });
    const bigEndianText = Buffer.from('\ufeffäb', 'utf16le').swap16();
    expect(shape(bigEndianText, 'text/plain; charset=utf-16').body).toBe('äb');
    expect(shape(Buffer.from('\ufeff{"a":1}', 'utf16le'), 'application/json').body).toEqual({
      a: 1,
    });
  });

  test('is marked as omitted, with a reason, when the body was too large', () => {
    expect(shape('', 'text/plain', 'too_large').omitted).toEqual({
      reason: 'too_large',
      content_type: 'text/plain',
      size: 9,
    });
  });

  test('comes with headers without cookies and hop-by-hop headers, and with repeated headers joined', () => {
    const headers = [
      ['Set-Cookie', 'a=1'],
      ['Connection', 'close'],
      ['X-A', '1'],
      ['x-a', 'CANARY-x'],
    ] as const;

    expect(shapeHeaders(headers, createScrubber(['CANARY-x']))).toEqual({ 'x-a': '1, [REDACTED]' });
  });
});
