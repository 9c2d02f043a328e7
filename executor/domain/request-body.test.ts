import fc from 'fast-check';
import { describe, expect, test } from 'vitest';

import type { BodyPart } from '#contracts/template';
import type { JsonValue } from '#contracts/vocabulary';
import { encodeBody } from './request-body.ts';

const boundary = 'gateway-0123456789abcdef';
const usual: BodyPart = {
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
  const partOf = (name: string) => (parts[name] ? { ...usual, ...parts[name] } : undefined);
  const { contentType, bytes } = encodeBody(value, { mediaType, partOf, boundary });
  return { contentType, text: Buffer.from(bytes).toString('latin1') };
}

const form = 'application/x-www-form-urlencoded';

describe('a form', () => {
  test.for<[what: string, JsonValue, Record<string, Partial<BodyPart>>, text: string]>([
    ['primitives', { a: 1, b: true, c: 'x y&z' }, {}, 'a=1&b=true&c=x%20y%26z'],
    ['nothing for null', { a: null, b: [], c: {} }, {}, ''],
    ['a list as one pair per item', { a: ['x', 'y'] }, {}, 'a=x&a=y'],
    ['an object as JSON', { a: { b: [1] } }, {}, 'a=%7B%22b%22%3A%5B1%5D%7D'],
    ['a list in one pair', { a: ['x', 'y'] }, { a: { style: 'form', explode: false } }, 'a=x,y'],
    ['pipes', { a: ['x', 'y'] }, { a: { style: 'pipeDelimited', explode: false } }, 'a=x%7Cy'],
    ['deep objects', { a: { b: { c: 1 } } }, { a: { style: 'deepObject' } }, 'a%5Bb%5D%5Bc%5D=1'],
    ['members as fields', { a: { b: 1, c: 2 } }, { a: { style: 'form' } }, 'b=1&c=2'],
    ['a list as JSON', { a: [1, 2] }, { a: { contentType: 'application/json' } }, 'a=%5B1%2C2%5D'],
    ['reserved characters', { a: 'x/y&z' }, { a: { allowReserved: true } }, 'a=x/y%26z'],
    ['names of other alphabets', { größe: 'ü' }, {}, 'gr%C3%B6%C3%9Fe=%C3%BC'],
  ])('holds %s', ([, value, parts, text]) => {
    expect(encode(form, value, parts)).toEqual({ contentType: form, text });
  });

  test.for<[what: string, JsonValue]>([
    ['a list', ['a']],
    ['a text', 'a=b'],
    ['a method override', { _method: 'DELETE' }],
    ['half a character', { a: '\ud800' }],
  ])('is never %s', ([, value]) => {
    expect(() => encode(form, value)).toThrow(expect.objectContaining({ code: 'invalid_params' }));
  });

  test('is read as it was written, whatever stands in it', () => {
    const text = fc.string({ unit: 'grapheme' });
    fc.assert(
      fc.property(fc.uniqueArray(fc.tuple(text, text), { selector: ([key]) => key }), (pairs) => {
        const safe = pairs.filter(([key]) => !/^_method/i.test(key));
        const { text: written } = encode(form, Object.fromEntries(safe));
        const read = new Map(new URLSearchParams(written));
        expect(read).toEqual(new Map(Object.entries(Object.fromEntries(safe))));
      }),
      { numRuns: 1_000 },
    );
  });
});

describe('multipart/form-data', () => {
  test('has one part per field, JSON for what is no primitive, and files by name', () => {
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
    const part = (head: string, body: string) =>
      `--${boundary}\r\nContent-Disposition: form-data; ${head}\r\n\r\n${body}\r\n`;
    expect(text).toBe(
      [
        part('name="title"', 'x'),
        part('name="tags"', 'a'),
        part('name="tags"', 'b'),
        part('name="about"\r\nContent-Type: application/json', '{"n":1}'),
        part('name="picture"; filename="picture"\r\nContent-Type: image/png', '\0\u00ff\r\n'),
        part('name="csv"\r\nContent-Type: text/csv', 'a;b'),
        `--${boundary}--\r\n`,
      ].join(''),
    );
  });

  test('has files under the names and types that callers give them, or those of the template', () => {
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
      // A template that says it is no file is believed.
      ['name="about"', 'Content-Type: application/json'],
    ]);
  });

  test('takes no header from the name of a field or of a file', () => {
    const { text } = encode('multipart/form-data', { 'a"\r\nX-Evil: 1': 'x' });
    expect(text).toContain('name="a%22%0D%0AX-Evil: 1"\r\n\r\nx');

    const file = { base64: 'AAE=', filename: 'a"\r\nX-Evil: 1' };
    const named = encode('multipart/form-data', { file }, { file: { isBinary: true } });
    expect(named.text).toContain('filename="a%22%0D%0AX-Evil: 1"\r\n');
    const typed = { base64: 'AAE=', content_type: 'a/b\r\nX-Evil: 1' };
    expect(() =>
      encode('multipart/form-data', { file: typed }, { file: { isBinary: true } }),
    ).toThrow('must be a media type');
  });

  test.for(['not base64!', 'YQ', 'YQ==\n', 'YR==', '_w==', 7, null as unknown as string])(
    'refuses %j for a file',
    (file) => {
      const send = () =>
        encode('multipart/form-data', { file: [file] }, { file: { isBinary: true } });
      expect(send).toThrow('must be base64');
    },
  );
});

describe('a whole body', () => {
  test.for<[mediaType: string, JsonValue, text: string]>([
    ['application/json', { a: null }, '{"a":null}'],
    ['application/merge-patch+json', { a: null }, '{"a":null}'],
    ['application/json-patch+json; charset=utf-8', [{ op: 'test' }], '[{"op":"test"}]'],
    ['application/json', 'x', '"x"'],
    ['text/plain', 'x', 'x'],
    ['application/xml', '<a/>', '<a/>'],
    ['application/octet-stream', '/w==', '\u00ff'],
    ['image/png', 'AAE=', '\0\u0001'],
  ])('of %s: %j', ([mediaType, value, text]) => {
    expect(encode(mediaType, value)).toEqual({ contentType: mediaType, text });
  });

  test('of bytes is refused when it is not base64', () => {
    for (const value of ['x', { a: 1 }, 'YWJj\r\n']) {
      expect(() => encode('application/pdf', value)).toThrow('must be base64');
    }
  });
});
