import fc from 'fast-check';
import { describe, expect, test } from 'vitest';

import type { BodyPart } from '#contracts/template';
import type { JsonValue } from '#contracts/vocabulary';
import { cpuMsOf } from '../../../test/support/cpu.ts';
import { encodeBody, toShownBody } from './request-body.ts';

const boundary = 'gateway-0123456789abcdef';
const plainPart: BodyPart = {
  style: null,
  explode: true,
  allowReserved: false,
  contentType: null,
  isBinary: false,
};

function encode(
  mediaType: string,
  value: JsonValue,
  parts: Record<string, Partial<BodyPart>> = {},
) {
  const partOf = (name: string) => (parts[name] ? { ...plainPart, ...parts[name] } : undefined);
  const { contentType, bytes } = encodeBody(value, { mediaType, partOf, boundary });
  return { contentType, text: Buffer.from(bytes).toString('latin1') };
}

const formMediaType = 'application/x-www-form-urlencoded';

describe('a form that becomes much larger than its JSON', () => {
  const name = 'n'.repeat(200);
  const items = Array<string>(19_900).fill('');
  const tooLarge = expect.objectContaining({
    code: 'too_large',
    details: { limit: 'sent_body_bytes', max: 1_000_000 },
  }) as Error;
  const encodeWith = (
    mediaType: string,
    value: JsonValue,
    {
      part,
      bytesMax = 1_000_000,
    }: { part?: Partial<BodyPart> | undefined; bytesMax?: number } = {},
  ) =>
    encodeBody(value, {
      mediaType,
      partOf: () => part && { ...plainPart, ...part },
      boundary,
      bytesMax,
    });

  test.for<[what: string, mediaType: string, JsonValue, part?: Partial<BodyPart>]>([
    ['a list in a form', formMediaType, { [name]: items }],
    [
      'nested objects in a form',
      formMediaType,
      { [name]: { [name]: items.map((_, at) => at) } },
      { style: 'deepObject' },
    ],
    ['a list in a multipart form', 'multipart/form-data', { [name]: items }],
  ])('is refused before it is built: %s', ([, mediaType, value, part]) => {
    expect(() => encodeWith(mediaType, value, { part })).toThrow(tooLarge);
  });

  test('is sent if it is within the size limit, which does not count its files', () => {
    const form = { a: 'x'.repeat(98) };
    const length = Buffer.from(encodeWith(formMediaType, form).bytes).length;
    expect(encodeWith(formMediaType, form, { bytesMax: length + 1 }).bytes).toHaveLength(length);
    expect(() => encodeWith(formMediaType, form, { bytesMax: length - 1 })).toThrow(
      expect.objectContaining({ code: 'too_large' }),
    );

    const file = { f: 'eHh4'.repeat(10_000) };
    const part = { isBinary: true };
    const { bytes } = encodeWith('multipart/form-data', file, { part, bytesMax: 1_000 });
    expect(bytes.length).toBeGreaterThan(30_000);
  });
});

describe('a form', () => {
  test.for<[what: string, JsonValue, Record<string, Partial<BodyPart>>, text: string]>([
    ['texts, numbers and booleans', { a: 1, b: true, c: 'x y&z' }, {}, 'a=1&b=true&c=x%20y%26z'],
    ['null, an empty list and an empty object', { a: null, b: [], c: {} }, {}, ''],
    ['a list', { a: ['x', 'y'] }, {}, 'a=x&a=y'],
    ['an object', { a: { b: [1] } }, {}, 'a=%7B%22b%22%3A%5B1%5D%7D'],
    [
      'a list that is not exploded',
      { a: ['x', 'y'] },
      { a: { style: 'form', explode: false } },
      'a=x,y',
    ],
    [
      'a list of the style pipeDelimited',
      { a: ['x', 'y'] },
      { a: { style: 'pipeDelimited', explode: false } },
      'a=x%7Cy',
    ],
    [
      'an object of the style deepObject',
      { a: { b: { c: 1 } } },
      { a: { style: 'deepObject' } },
      'a%5Bb%5D%5Bc%5D=1',
    ],
    ['an object of the style form', { a: { b: 1, c: 2 } }, { a: { style: 'form' } }, 'b=1&c=2'],
    [
      'a list of the media type application/json',
      { a: [1, 2] },
      { a: { contentType: 'application/json' } },
      'a=%5B1%2C2%5D',
    ],
    [
      'reserved characters that the template allows',
      { a: 'x/y&z' },
      { a: { allowReserved: true } },
      'a=x/y%26z',
    ],
    ['non-ASCII characters in names', { größe: 'ü' }, {}, 'gr%C3%B6%C3%9Fe=%C3%BC'],
  ])('writes %s as "$3"', ([, value, parts, text]) => {
    expect(encode(formMediaType, value, parts)).toEqual({ contentType: formMediaType, text });
  });

  test.for<[what: string, JsonValue, parts?: Record<string, Partial<BodyPart>>]>([
    ['a body that is a list', ['a']],
    ['a body that is a text', 'a=b'],
    ['a field that overrides the method', { _method: 'DELETE' }],
    ['a lone surrogate', { a: '\ud800' }],
    [
      'an object that gives another field',
      { to: 'a', more: { to: 'b' } },
      { more: { style: 'form' } },
    ],
    [
      'nested members that give another field',
      { 'a[b]': 1, a: { b: 2 } },
      { a: { style: 'deepObject' } },
    ],
  ])('cannot be built from %s', ([, value, parts]) => {
    expect(() => encode(formMediaType, value, parts)).toThrow(
      expect.objectContaining({ code: 'invalid_params' }),
    );
  });

  test('can be parsed into the original values, whatever the values contain', () => {
    const text = fc.string({ unit: 'grapheme' });
    fc.assert(
      fc.property(fc.uniqueArray(fc.tuple(text, text), { selector: ([key]) => key }), (pairs) => {
        const safe = pairs.filter(([key]) => !/^_method/i.test(key));
        const { text: written } = encode(formMediaType, Object.fromEntries(safe));
        const readPairs = new Map(new URLSearchParams(written));
        expect(readPairs).toEqual(new Map(Object.entries(Object.fromEntries(safe))));
      }),
      { numRuns: 1_000 },
    );
  });
});

describe('a multipart form', () => {
  test('has one part per field, with objects as JSON, and files with their names', () => {
    const picture = Buffer.from([0, 255, 13, 10]).toString('base64');
    const { contentType, text } = encode(
      'multipart/form-data',
      { title: 'x', tags: ['a', 'b'], about: { n: 1 }, picture, csv: 'a;b', left: null },
      {
        picture: { isBinary: true, contentType: 'image/png' },
        csv: { contentType: 'text/csv' },
      },
    );

    expect(contentType).toBe(`multipart/form-data; boundary=${boundary}`);
    const partText = (head: string, body: string) =>
      `--${boundary}\r\nContent-Disposition: form-data; ${head}\r\n\r\n${body}\r\n`;
    expect(text).toBe(
      [
        partText('name="title"', 'x'),
        partText('name="tags"', 'a'),
        partText('name="tags"', 'b'),
        partText('name="about"\r\nContent-Type: application/json', '{"n":1}'),
        partText('name="picture"; filename="picture"\r\nContent-Type: image/png', '\0\u00ff\r\n'),
        partText('name="csv"\r\nContent-Type: text/csv', 'a;b'),
        `--${boundary}--\r\n`,
      ].join(''),
    );
  });

  test('has the file names and media types from the caller or the template', () => {
    const { text } = encode(
      'multipart/form-data',
      {
        pictures: [
          { base64: 'AAE=', filename: 'Büro "1".png' },
          { base64: 'AAE=', filename: 'b.webp', content_type: 'image/webp' },
          { base64: 'AAE=' },
          'AAE=',
        ],
        about: { base64: 'AAE=' },
      },
      { pictures: { isBinary: true, contentType: 'image/png' } },
    );
    const heads = [...text.matchAll(/form-data; (.*)\r\n(.*)\r\n\r\n/g)];

    expect(heads.map(([, ...head]) => head)).toEqual([
      [
        `name="pictures"; filename="${Buffer.from('Büro %221%22.png').toString('latin1')}"`,
        'Content-Type: image/png',
      ],
      ['name="pictures"; filename="b.webp"', 'Content-Type: image/webp'],
      ['name="pictures"; filename="pictures"', 'Content-Type: image/png'],
      ['name="pictures"; filename="pictures"', 'Content-Type: image/png'],
      // The template says that this part is not a file, which takes precedence over the value.
      ['name="about"', 'Content-Type: application/json'],
    ]);
  });

  test('gets no additional header from the name of a field or file', () => {
    const { text } = encode('multipart/form-data', { 'a"\r\nX-Evil: 1': 'x' });
    expect(text).toContain('name="a%22%0D%0AX-Evil: 1"\r\n\r\nx');

    const file = { base64: 'AAE=', filename: 'a"\r\nX-Evil: 1' };
    const encodedFile = encode('multipart/form-data', { file }, { file: { isBinary: true } });
    expect(encodedFile.text).toContain('filename="a%22%0D%0AX-Evil: 1"\r\n');
    const fileWithType = { base64: 'AAE=', content_type: 'a/b\r\nX-Evil: 1' };
    expect(() =>
      encode('multipart/form-data', { file: fileWithType }, { file: { isBinary: true } }),
    ).toThrow('must be a media type');
  });

  test.for(['not base64!', 'YQ', 'YQ==\n', 'YR==', '_w==', 7, null as unknown as string])(
    'cannot be built with %j as a file',
    (file) => {
      const send = () =>
        encode('multipart/form-data', { file: [file] }, { file: { isBinary: true } });
      expect(send).toThrow('must be base64');
    },
  );
});

describe('a body that is one value', () => {
  test.for<[mediaType: string, JsonValue, text: string]>([
    ['application/json', { a: null }, '{"a":null}'],
    ['application/merge-patch+json', { a: null }, '{"a":null}'],
    ['application/json-patch+json; charset=utf-8', [{ op: 'test' }], '[{"op":"test"}]'],
    ['application/json', 'x', '"x"'],
    ['text/plain', 'x', 'x'],
    ['application/xml', '<a/>', '<a/>'],
    ['application/octet-stream', '/w==', '\u00ff'],
    ['image/png', 'AAE=', '\0\u0001'],
  ])('is, for the media type %s and the value %j, sent as %j', ([mediaType, value, text]) => {
    expect(encode(mediaType, value)).toEqual({ contentType: mediaType, text });
  });

  test.for([
    ['text', 'c3RvcCBhbGw=', 'stop all'],
    ['no UTF-8', '/w==', '/w=='],
    ['text with a control character', 'YQBi', 'YQBi'],
    ['not base64', '[REDACTED]', '[REDACTED]'],
  ] as const)(
    'is shown as text, for a binary media type, only if it is text: %s',
    ([, value, shown]) => {
      const contentType = 'application/octet-stream';
      expect(toShownBody(value, { contentType, partOf: () => undefined })).toBe(shown);
    },
  );

  test('is refused when the media type is binary and the value is not base64', () => {
    for (const value of ['x', { a: 1 }, 'YWJj\r\n']) {
      expect(() => encode('application/pdf', value)).toThrow('must be base64');
    }
  });
});

test('encoding eight times as many nested fields takes about eight times the CPU time', () => {
  const encode = (count: number) => {
    const value = Object.fromEntries(
      Array.from({ length: count }, (_, at) => [`f${at}`, { x: 1 }]),
    );
    const part = { ...plainPart, style: 'deepObject' as const };
    const encoding = { mediaType: 'application/x-www-form-urlencoded', boundary };
    return () => encodeBody(value, { ...encoding, partOf: () => part });
  };

  expect(cpuMsOf(encode(4_800))).toBeLessThan(24 * cpuMsOf(encode(600)));
});
