import { describe, expect, test } from 'vitest';

import { allowedMsOf, cpuMsOf } from '../../../test/support/cpu.ts';
import { parseUntrustedJson, parseUntrustedText } from './json.ts';

const limits = {
  depthMax: 64,
  valuesMax: 50_000,
  itemsMax: 20_000,
  namesMax: 10_000,
  nameCharactersMax: 256,
  pathCharactersMax: 2_048,
};
const parse = (text: string) => parseUntrustedText(text, limits);

/**
 * Creates objects in lists in objects. Each object has `width` members with names of this length.
 */
function createNestedNames(characters: number, levels: number, width = 1): string {
  if (levels === 0) return '1';
  const inner = createNestedNames(characters, levels - 1, width);
  const members = Array.from(
    { length: width },
    (_, at) => `"${String(at).padStart(characters, 'n')}":[${inner}]`,
  );
  return `{${members.join()}}`;
}

describe('parseUntrustedJson', () => {
  test('parses valid JSON', () => {
    expect(parseUntrustedJson(Buffer.from('{"a":[1,{"b":"ü"}],"c":null}'), limits).value).toEqual({
      a: [1, { b: 'ü' }],
      c: null,
    });
  });

  test.for<[name: string, text: string]>([
    ['64 levels of nesting', `${'['.repeat(64)}${']'.repeat(64)}`],
    ['10,000 keys', createMembers(10_000)],
    ['a scalar', '"text"'],
    ['one name in several objects', '{"a":{"a":[{"a":1},{"a":2}]}}'],
    ['brackets, commas and colons in strings', JSON.stringify({ a: '[[,,::"{{'.repeat(20_000) })],
    ['strings of nothing but escapes', JSON.stringify(['\\'.repeat(99), '"'.repeat(99), '\\"'])],
    ['20,000 items', `[${Array(20_000).fill('[]').join(' , ')}]`],
    ['names such as toString, which objects inherit', '{"toString":1,"hasOwnProperty":2}'],
    ['a name of 256 characters', JSON.stringify({ ['ü'.repeat(256)]: 1 })],
    ['a name of 256 characters, all of them escapes', `{"${'\\u0061'.repeat(256)}":1}`],
    [
      'a name of 256 characters that take two units each, half as many',
      `{"${'😀'.repeat(128)}":1}`,
    ],
    ['many names of 200 characters side by side', createNestedNames(200, 1, 20)],
    ['nested names of 2,040 characters, and lists in between', createNestedNames(203, 10)],
    [
      'names that contain __proto__ or constructor as a part',
      '{"my__proto__": 1, "constructors": 2}',
    ],
  ])('accepts %s', ([, text]) => {
    expect(() => parse(text)).not.toThrow();
  });

  test.for<[name: string, text: string]>([
    ['the name __proto__', '{"__proto__":{"isAdmin":true}}'],
    ['the name __proto__ written with an escape', '{"\\u005f_proto__":1}'],
    ['the name constructor in a nested object', '{"a":[{"constructor":{}}]}'],
    ['an empty text', ''],
    ['two values', '{} {}'],
    ['a trailing comma', '{"a":1,}'],
    ['a string that does not end', '{"a":"b'],
    ['a string that ends in an escape', '["a\\'],
    ['more closing brackets than opening ones', '[]]]]'],
    ['a name that occurs twice in one object', '{"action":"list_items","action":"create_item"}'],
    ['a name that occurs twice, once written with an escape', '{"action":1,"\\u0061ction":2}'],
    ['a name that occurs twice in a nested object', '[{"a":{"b":[{"c":1,"d":{},"c":1}]}}]'],
  ])('refuses %s', ([, text]) => {
    expect(() => parse(text)).toThrow(expect.objectContaining({ code: 'invalid_request' }));
  });

  test.for<[name: string, text: string, limit: string]>([
    ['65 levels of nesting', `${'['.repeat(65)}${']'.repeat(65)}`, 'json_depth'],
    ['250,000 levels of nesting', '['.repeat(250_000) + ']'.repeat(250_000), 'json_depth'],
    ['10,001 names', createMembers(10_001), 'json_names'],
    [
      '10,001 names spread over many objects',
      `[${Array.from({ length: 10_001 }, () => '{"a":1}').join()}]`,
      'json_names',
    ],
    ['a name of 257 characters', JSON.stringify({ ['ü'.repeat(257)]: 1 }), 'json_name_characters'],
    [
      'a name of 257 characters in a text that is no JSON',
      `{"${'\\u0061'.repeat(257)}":`,
      'json_name_characters',
    ],
    ['nested names of 2,050 characters', createNestedNames(204, 10), 'json_path_characters'],
    ['20,001 items', `[${Array(20_001).fill('0').join()}]`, 'json_list_items'],
    [
      'too many values spread over many lists',
      `[${Array(100)
        .fill(`[${Array(500).fill('""').join('\n,')}]`)
        .join()}]`,
      'json_values',
    ],
    ['too many lists in lists', `[${Array(10_000).fill('[[[[[[]]]]]]').join()}]`, 'json_values'],
    [
      '20,001 items in text that is no JSON',
      `[${Array(20_001).fill('0').join()}`,
      'json_list_items',
    ],
  ])('refuses %s as too_large, naming the limit $2', ([, text, limit]) => {
    expect(() => parse(text)).toThrow(
      expect.objectContaining({
        code: 'too_large',
        details: { limit, max: expect.any(Number) as number },
      }),
    );
  });

  test.for<[name: string, text: string]>([
    ['a million levels of nesting', '['.repeat(1_000_000)],
    ['500,000 zeros', `[${Array(500_000).fill('0').join()}]`],
    ['340,000 empty lists', `[${Array(340_000).fill('[]').join()}]`],
  ])('refuses %s with less CPU time than it takes to parse 20,000 empty lists', ([, text]) => {
    const expectRefusal = () => {
      try {
        parse(text);
      } catch {
        // The measured size.
      }
    };

    expect(cpuMsOf(expectRefusal)).toBeLessThan(
      allowedMsOf(`[${Array(20_000).fill('[]').join()}]`),
    );
  });

  test('accepts 10,000 numbers with more digits than a double can hold, and refuses more as too_large', () => {
    const parseIds = (count: number) => () =>
      parseUntrustedJson(
        Buffer.from(`{"params":{"ids":[${Array(count).fill('9007199254740993').join()}]}}`),
        limits,
      );
    expect(parseIds(10_000)().value).toMatchObject({
      params: { ids: expect.arrayContaining(['9007199254740993']) },
    });
    expect(parseIds(10_001)).toThrow(
      expect.objectContaining({
        code: 'too_large',
        details: { limit: 'long_numbers', max: 10_000 },
      }),
    );
  });

  test('throws errors that do not repeat the body', () => {
    expect(() => parse('{"token": CANARY-3}')).toThrow(
      expect.objectContaining({ message: expect.not.stringContaining('CANARY') }),
    );
  });
});

function createMembers(count: number): string {
  return `{${Array.from({ length: count }, (_, index) => `"k${index}":1`).join(',')}}`;
}
