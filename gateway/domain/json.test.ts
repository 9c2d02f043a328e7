import { describe, expect, test } from 'vitest';

import { allowedMsOf, cpuMsOf } from '../../test/support/cpu.ts';
import { parseUntrustedJson, parseUntrustedText } from './json.ts';

const limits = { depthMax: 64, valuesMax: 50_000, itemsMax: 20_000, namesMax: 10_000 };
const parse = (text: string) => parseUntrustedText(text, limits);

describe('JSON from outside', () => {
  test('is parsed as it stands', () => {
    expect(parseUntrustedJson(Buffer.from('{"a":[1,{"b":"ü"}],"c":null}'), limits).value).toEqual({
      a: [1, { b: 'ü' }],
      c: null,
    });
  });

  test.for<[name: string, text: string]>([
    ['64 levels', `${'['.repeat(64)}${']'.repeat(64)}`],
    ['10,000 keys', keys(10_000)],
    ['a scalar', '"text"'],
    ['the same name in several objects', '{"a":{"a":[{"a":1},{"a":2}]}}'],
    ['brackets, commas and colons in strings', JSON.stringify({ a: '[[,,::"{{'.repeat(20_000) })],
    ['strings of nothing but escapes', JSON.stringify(['\\'.repeat(99), '"'.repeat(99), '\\"'])],
    ['20,000 items', `[${Array(20_000).fill('[]').join(' , ')}]`],
    ['names that objects inherit', '{"toString":1,"hasOwnProperty":2}'],
    ['a key that only contains a refused one', '{"my__proto__": 1, "constructors": 2}'],
  ])('%s is accepted', ([, text]) => {
    expect(() => parse(text)).not.toThrow();
  });

  test.for<[name: string, text: string]>([
    ['__proto__', '{"__proto__":{"isAdmin":true}}'],
    ['__proto__ in disguise', '{"\\u005f_proto__":1}'],
    ['constructor, deep down', '{"a":[{"constructor":{}}]}'],
    ['nothing', ''],
    ['two values', '{} {}'],
    ['a trailing comma', '{"a":1,}'],
    ['a string that does not end', '{"a":"b'],
    ['a string that ends in an escape', '["a\\'],
    ['more closed than opened', '[]]]]'],
    ['a name twice', '{"action":"list_items","action":"create_item"}'],
    ['a name twice, once in another spelling', '{"action":1,"\\u0061ction":2}'],
    ['a name twice, deep down', '[{"a":{"b":[{"c":1,"d":{},"c":1}]}}]'],
  ])('%s is refused', ([, text]) => {
    expect(() => parse(text)).toThrow(expect.objectContaining({ code: 'invalid_request' }));
  });

  test.for<[name: string, text: string, limit: string]>([
    ['65 levels', `${'['.repeat(65)}${']'.repeat(65)}`, 'json_depth'],
    ['half a million levels', '['.repeat(250_000) + ']'.repeat(250_000), 'json_depth'],
    ['10,001 names', keys(10_001), 'json_names'],
    [
      'names spread over many objects',
      `[${Array.from({ length: 10_001 }, () => '{"a":1}').join()}]`,
      'json_names',
    ],
    ['20,001 items', `[${Array(20_001).fill('0').join()}]`, 'json_list_items'],
    [
      'values spread over many lists',
      `[${Array(100)
        .fill(`[${Array(500).fill('""').join('\n,')}]`)
        .join()}]`,
      'json_values',
    ],
    ['lists in lists', `[${Array(10_000).fill('[[[[[[]]]]]]').join()}]`, 'json_values'],
    ['too many items and then no JSON', `[${Array(20_001).fill('0').join()}`, 'json_list_items'],
  ])('%s is too large, with the limit', ([, text, limit]) => {
    expect(() => parse(text)).toThrow(
      expect.objectContaining({
        code: 'too_large',
        details: { limit, max: expect.any(Number) as number },
      }),
    );
  });

  test.for<[name: string, text: string]>([
    ['a million levels', '['.repeat(1_000_000)],
    ['500,000 zeros', `[${Array(500_000).fill('0').join()}]`],
    ['340,000 empty lists', `[${Array(340_000).fill('[]').join()}]`],
  ])('%s are refused for less than it takes to parse 20,000 of them', ([, text]) => {
    const refuse = () => {
      try {
        parse(text);
      } catch {
        // What is measured.
      }
    };

    expect(cpuMsOf(refuse)).toBeLessThan(allowedMsOf(`[${Array(20_000).fill('[]').join()}]`));
  });

  test('the error does not repeat the body', () => {
    expect(() => parse('{"token": CANARY-3}')).toThrow(
      expect.objectContaining({ message: expect.not.stringContaining('CANARY') }),
    );
  });
});

function keys(count: number): string {
  return `{${Array.from({ length: count }, (_, index) => `"k${index}":1`).join(',')}}`;
}
