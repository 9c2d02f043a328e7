import { expect, test } from 'vitest';

import { canonicalJson } from './canonical-json.ts';

test.for<[what: string, value: unknown, text: string]>([
  ['the keys of objects by code units', { b: 1, 10: 2, 9: 3, B: 4 }, '{"10":2,"9":3,"B":4,"b":1}'],
  ['a list of texts and numbers as JSON does', ['é"\n', 1.5, -0, true], '["é\\"\\n",1.5,0,true]'],
  ['nothing in a list as null', [null, undefined, Number.NaN], '[null,null,null]'],
  ['objects within lists by their keys', [1, { b: [], a: {} }], '[1,{"a":{},"b":[]}]'],
  ['no member that is undefined', { a: undefined, b: null }, '{"b":null}'],
  ['no member of them that are in order', { a: [], b: undefined, c: '' }, '{"a":[],"c":""}'],
  [
    'what is in order beside what is not',
    { c: [{ a: 1, b: [2, 'é"'] }, { b: { d: 1, c: [] }, a: null }, [[], {}], 'x'], a: { e: 'f' } },
    '{"a":{"e":"f"},"c":[{"a":1,"b":[2,"é\\""]},{"a":null,"b":{"c":[],"d":1}},[[],{}],"x"]}',
  ],
  [
    'what has to be escaped, in names and in texts',
    { z: '\u007f', '"': '\\', '\u0001': 'a\tb', é: ' !#[]~' },
    '{"\\u0001":"a\\tb","\\"":"\\\\","z":"\u007f","é":" !#[]~"}',
  ],
  ['nothing as null', undefined, 'null'],
])('canonical JSON writes %s', ([, value, text]) => {
  expect(canonicalJson(value)).toBe(text);
});

test('canonical JSON refuses what is nested deeper than 64 levels', () => {
  const nested = (levels: number) => JSON.parse('['.repeat(levels) + ']'.repeat(levels)) as unknown;

  expect(() => canonicalJson(nested(64))).not.toThrow();
  expect(() => canonicalJson(nested(70))).toThrow(/deeper than 64 levels/);
});
