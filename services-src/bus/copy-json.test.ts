import fc from 'fast-check';
import { describe, expect, test } from 'vitest';

import { copyJson, isLargerThan } from './copy-json.ts';

const throughText = (value: unknown): unknown => {
  const text = JSON.stringify(value) as string | undefined;
  return text === undefined ? undefined : JSON.parse(text);
};

describe('a copy made by copyJson', () => {
  test('equals the value that JSON.parse(JSON.stringify(value)) gives', () => {
    const values = fc.anything({
      withDate: true,
      withMap: true,
      withSet: true,
      withNullPrototype: true,
      withSparseArray: true,
      withTypedArray: true,
      withUnicodeString: true,
    });
    fc.assert(
      fc.property(values, (value) => {
        expect(copyJson(value).value).toEqual(throughText(value));
      }),
    );
  });

  test.for<[what: string, value: unknown]>([
    ['members that are undefined', { a: undefined, b: [undefined, 1], c: { d: undefined } }],
    ['functions and symbols', { a: () => 1, b: [() => 1, Symbol('s')], c: Symbol('s') }],
    ['numbers that JSON lacks', [Number.NaN, Infinity, -Infinity]],
    ['a date', { at: new Date(0) }],
    ['a member named toJSON', { toJSON: 'text' }],
    ['an object that writes itself', { inside: { toJSON: () => ({ other: 1 }) } }],
    ['boxed values', [Object(1), Object('text'), Object(true)]],
    ['characters without a partner', '\ud800 \udc00'],
  ])('equals the value that JSON.parse(JSON.stringify(value)) gives for %s', ([, value]) => {
    expect(copyJson(value).value).toStrictEqual(throughText(value));
  });

  test('has zero in place of negative zero', () => {
    expect(Object.is(copyJson(-0).value, 0)).toBe(true);
  });

  test('keeps a member named __proto__ as a member', () => {
    const value: unknown = JSON.parse('{"__proto__": {"admin": true}}');
    const copy = copyJson(value).value as Record<string, unknown>;
    expect(Object.keys(copy)).toEqual(['__proto__']);
    expect(copy['admin']).toBeUndefined();
  });

  test('is refused for a value that JSON.stringify refuses', () => {
    expect(() => copyJson({ count: 1n })).toThrow(TypeError);
  });

  test('shares nothing with the original', () => {
    const original = { list: [{ name: 'a' }] };
    const copy = copyJson(original).value as typeof original;
    copy.list[0]!.name = 'b';
    copy.list.push({ name: 'c' });
    expect(original).toEqual({ list: [{ name: 'a' }] });
  });
});

describe('isLargerThan', () => {
  test('agrees with the bytes of the JSON text', () => {
    fc.assert(
      fc.property(fc.jsonValue(), fc.integer({ min: -3, max: 3 }), (value, difference) => {
        const bytes = Buffer.byteLength(JSON.stringify(value));
        expect(isLargerThan(bytes + difference, copyJson(value))).toBe(difference < 0);
      }),
    );
  });

  test.for([
    ['control characters', '\u0000'.repeat(100)],
    ['characters of three bytes', '\u20ac'.repeat(100)],
    ['long numbers', Array.from({ length: 100 }, () => -Number.MAX_VALUE / 3)],
    ['names', Object.fromEntries(Array.from({ length: 100 }, (_, n) => [`\u0001${n}`, null]))],
    ['empty lists', Array.from({ length: 100 }, () => [])],
  ])('counts %s in full', ([, value]) => {
    const bytes = Buffer.byteLength(JSON.stringify(value));
    expect(isLargerThan(bytes - 1, copyJson(value))).toBe(true);
    expect(isLargerThan(bytes, copyJson(value))).toBe(false);
  });
});
