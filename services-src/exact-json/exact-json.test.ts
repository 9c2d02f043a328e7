import fc from 'fast-check';
import { describe, expect, test } from 'vitest';

import { cpuMsOf } from '../../test/support/cpu.ts';
import type { JsonValue } from '../contracts/vocabulary.ts';
import { parseExactJson, readNumberTexts, toRawNumbers } from './index.ts';

describe('parseExactJson', () => {
  test.for<[text: string, value: JsonValue]>([
    ['9007199254740993', '9007199254740993'],
    ['9007199254740992', '9007199254740992'],
    ['100000000000000000000', '100000000000000000000'],
    ['-9223372036854775808', '-9223372036854775808'],
    ['{"id":18446744073709551615}', { id: '18446744073709551615' }],
    ['[0.1234567890123456789, 1]', ['0.1234567890123456789', 1]],
    ['{"a":{"b":[1e400]}}', { a: { b: ['1e400'] } }],
    ['{"a": 1e-400}', { a: '1e-400' }],
    ['{"__proto__":9007199254740993}', JSON.parse('{"__proto__":"9007199254740993"}') as JsonValue],
  ])('gives numbers as text when a reader would change them: %s', ([text, value]) => {
    expect(parseExactJson(text)).toEqual({ value, inexactCount: 1 });
  });

  test.for([
    '9007199254740991',
    '1.50',
    '1.500000000000000000',
    '15e-1',
    '1E2',
    '-0',
    '0.0e5',
    '1e20',
    '0.30000000000000004',
    '5e-324',
    '1.7976931348623157e308',
    '"9007199254740993"',
    '{"9007199254740993":"a 1234567890123456789 e"}',
    'null',
  ])('gives %s as JSON.parse does', (text) => {
    expect(parseExactJson(text)).toEqual({ value: JSON.parse(text), inexactCount: 0 });
  });

  test.for(['', '{', '[9007199254740993', '9007199254740993 1', '01234567890123456789'])(
    'refuses %j as JSON.parse does',
    (text) => {
      expect(() => parseExactJson(text)).toThrow(SyntaxError);
    },
  );

  test('takes ten times as long for a number with ten times as many zeros inside', () => {
    const parseZeros = (count: number) => () => parseExactJson(`[1.${'0'.repeat(count)}1]`);

    expect(cpuMsOf(parseZeros(100_000))).toBeLessThan(40 * cpuMsOf(parseZeros(10_000)));
  });

  test('changes the value of no number, in any position', () => {
    const digits = fc.stringMatching(/^[1-9]\d{0,24}$/);
    const fraction = fc.option(fc.stringMatching(/^\.\d{1,25}$/), { nil: '' });
    const exponent = fc.option(fc.stringMatching(/^[eE][+-]?\d{1,3}$/), { nil: '' });
    const numberText = fc
      .tuple(fc.constantFrom('', '-'), fc.oneof(digits, fc.constant('0')), fraction, exponent)
      .map((parts) => parts.join(''));
    const { json } = fc.letrec((tie) => ({
      json: fc.oneof(
        { maxDepth: 4 },
        numberText,
        fc.string().map((text) => JSON.stringify(text)),
        fc.array(tie('json'), { maxLength: 4 }).map((items) => `[${items.join(' , ')}]`),
        fc.dictionary(fc.string(), tie('json'), { maxKeys: 4 }).map(
          (members) =>
            `{${Object.entries(members)
              .map(([name, member]) => `${JSON.stringify(name)} : ${String(member)}`)
              .join()}}`,
        ),
      ),
    }));
    fc.assert(
      fc.property(json as fc.Arbitrary<string>, (text) => {
        const { value } = parseExactJson(text);
        expect(listNumbers(JSON.stringify(value).replaceAll(/"(-?\d[\d.eE+-]*)"/g, '$1'))).toEqual(
          listNumbers(text.replaceAll(/"(-?\d[\d.eE+-]*)"/g, '$1')),
        );
      }),
      { numRuns: 2_000 },
    );
  });
});

/** The numbers of a JSON text in order, each as a fraction of integers, which is exact. */
function listNumbers(text: string): string[] {
  const withoutTexts = text.replaceAll(/"(?:[^"\\]|\\.)*"/g, '""');
  return [...withoutTexts.matchAll(/-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?/g)].map(([number]) => {
    const [mantissa = '', exponent = '0'] = number.toLowerCase().split('e');
    const [whole = '', fraction = ''] = mantissa.split('.');
    let integer = BigInt(`${whole}${fraction}`.replace('-', ''));
    let power = Number(exponent) - fraction.length;
    while (integer !== 0n && integer % 10n === 0n) [integer, power] = [integer / 10n, power + 1];
    return integer === 0n ? '0' : `${whole.startsWith('-') ? '-' : ''}${integer}e${power}`;
  });
}

describe('digits that are given as text', () => {
  const schema = {
    type: 'object',
    properties: {
      id: { type: 'integer' },
      price: { type: ['number', 'null'] },
      name: { type: 'string' },
      either: { type: ['integer', 'string'] },
      any: {},
      ids: { type: 'array', items: { type: 'integer' } },
      counts: { type: 'object', additionalProperties: { type: 'integer' } },
    },
  };
  const value = {
    id: '9007199254740993',
    price: '0.12345678901234567891',
    name: '9007199254740993',
    either: '7',
    any: '7',
    ids: [1, '18446744073709551615'],
    counts: { a: '2', b: 3 },
  };

  test('are written as numbers of these digits where the schema takes only a number', () => {
    expect(JSON.stringify(toRawNumbers(value, schema))).toBe(
      '{"id":9007199254740993,"price":0.12345678901234567891,"name":"9007199254740993","either":"7",' +
        '"any":"7","ids":[1,18446744073709551615],"counts":{"a":2,"b":3}}',
    );
  });

  test('are numbers for the check against the schema', () => {
    expect(readNumberTexts(value, schema).value).toMatchObject({
      id: 9007199254740992,
      name: '9007199254740993',
      either: '7',
      counts: { a: 2, b: 3 },
    });
  });

  test.for(['', '1.5', '1e3', '01', '-0', '+1', ' 1', '0x1', '١', 'NaN', '1'.repeat(401)])(
    'stay text when they are no integer: %j',
    (id) => {
      expect(toRawNumbers({ id }, schema)).toEqual({ id });
      expect(readNumberTexts({ id }, schema)).toEqual({ value: { id }, issues: [] });
    },
  );

  test.for(['100.0', '1e2', '-0', '0.10', '9007199254740993.0', '1e400', '.5', '5.'])(
    'stay text when they are not the one form of the number that rules compare with: %j',
    (price) => {
      expect(toRawNumbers({ price }, schema)).toEqual({ price });
      expect(readNumberTexts({ price }, schema)).toEqual({ value: { price }, issues: [] });
    },
  );

  test.for<[what: string, schema: object, value: JsonValue, sent: string]>([
    ['a number or null', { anyOf: [{ type: 'integer' }, { type: 'null' }] }, '7', '7'],
    ['one of two numbers', { oneOf: [{ type: 'integer' }, { type: 'number' }] }, '0.5', '0.5'],
    [
      'a list or null',
      { anyOf: [{ type: 'array', items: { type: 'integer' } }, { type: 'null' }] },
      ['9007199254740993'],
      '[9007199254740993]',
    ],
    [
      'an object or null',
      { oneOf: [{ type: 'null' }, { properties: { id: { type: 'integer' } } }] },
      { id: '9007199254740993' },
      '{"id":9007199254740993}',
    ],
    ['a number or a text', { anyOf: [{ type: 'integer' }, { type: 'string' }] }, '7', '"7"'],
    ['a number or anything', { anyOf: [{ type: 'integer' }, {}] }, '7', '"7"'],
    ['only null', { anyOf: [{ type: 'null' }] }, '7', '"7"'],
  ])('are written as $3 when the schema takes %s', ([, schema, value, sent]) => {
    expect(JSON.stringify(toRawNumbers(value, schema))).toBe(sent);
  });

  test.for<[schema: object, allowed: string, refused: string]>([
    [{ maximum: 1 }, '0.99999999999999999999', '1.00000000000000000001'],
    [{ minimum: -1 }, '-0.99999999999999999999', '-1.00000000000000000001'],
    [{ exclusiveMaximum: 1 }, '0.12345678901234567891', '1.00000000000000000001'],
    [{ exclusiveMinimum: 1e-7 }, '0.00000010000000000000000001', '0.00000009999999999999999999'],
    [{ multipleOf: 2 }, '9007199254740994', '9007199254740993'],
    [{ multipleOf: 0.01 }, '90071992547409.93', '0.01000000000000000000001'],
    [{ enum: [0.1, 9007199254740992] }, '9007199254740993', '0.10000000000000000000001'],
    [{ allOf: [{ multipleOf: 3 }] }, '9007199254740993', '9007199254740994'],
    [
      {
        anyOf: [
          { type: 'integer', multipleOf: 10 },
          { type: 'integer', multipleOf: 3 },
        ],
      },
      '9007199254740990',
      '9007199254740994',
    ],
  ])('are checked by their digits: %j takes %s and not %s', ([keywords, allowed, refused]) => {
    const schema = { properties: { ids: { items: { type: 'number', ...keywords } } } };
    const read = (id: string) => readNumberTexts({ ids: [1, id] }, schema).issues;
    expect(read(allowed)).toEqual([]);
    expect(read(refused)).toMatchObject([{ path: 'ids.1' }]);
  });

  test('leave other values as they are', () => {
    const plain = { id: 1, price: null, ids: [2], more: { id: '1' } };
    expect(toRawNumbers(plain, schema)).toBe(plain);
    expect(toRawNumbers('1', true)).toBe('1');
    expect(toRawNumbers('1', undefined)).toBe('1');
  });
});
