import { describe, expect, test } from 'vitest';

import { parseUntrustedJson, parseUntrustedText } from './json.ts';

describe('JSON from outside', () => {
  test('is parsed as it stands', () => {
    expect(parseUntrustedJson(Buffer.from('{"a":[1,{"b":"ü"}],"c":null}'))).toEqual({
      a: [1, { b: 'ü' }],
      c: null,
    });
  });

  test.for<[name: string, text: string]>([
    ['64 levels', `${'['.repeat(64)}${']'.repeat(64)}`],
    ['10,000 keys', keys(10_000)],
    ['a scalar', '"text"'],
    ['a key that only contains a refused one', '{"my__proto__": 1, "constructors": 2}'],
  ])('%s is accepted', ([, text]) => {
    expect(() => parseUntrustedText(text)).not.toThrow();
  });

  test.for<[name: string, text: string]>([
    ['65 levels', `${'['.repeat(65)}${']'.repeat(65)}`],
    ['half a million levels', '['.repeat(250_000) + ']'.repeat(250_000)],
    ['10,001 keys', keys(10_001)],
    [
      'keys spread over many objects',
      `[${Array.from({ length: 10_001 }, () => '{"a":1}').join()}]`,
    ],
    ['__proto__', '{"__proto__":{"isAdmin":true}}'],
    ['__proto__ in disguise', '{"\\u005f_proto__":1}'],
    ['constructor, deep down', '{"a":[{"constructor":{}}]}'],
    ['nothing', ''],
    ['two values', '{} {}'],
    ['a trailing comma', '{"a":1,}'],
  ])('%s is refused', ([, text]) => {
    expect(() => parseUntrustedText(text)).toThrow(
      expect.objectContaining({ code: 'invalid_request' }),
    );
  });

  test('the error does not repeat the body', () => {
    expect(() => parseUntrustedText('{"token": CANARY-3}')).toThrow(
      expect.objectContaining({ message: expect.not.stringContaining('CANARY') }),
    );
  });
});

function keys(count: number): string {
  return `{${Array.from({ length: count }, (_, index) => `"k${index}":1`).join(',')}}`;
}
