import { expect, test } from 'vitest';

import { toCanonicalJson } from './canonical-json.ts';

test.for<[what: string, value: unknown, text: string]>([
  [
    'the keys of an object in code-unit order',
    { b: 1, 10: 2, 9: 3, B: 4 },
    '{"10":2,"9":3,"B":4,"b":1}',
  ],
  ['a list of texts and numbers as JSON does', ['é"\n', 1.5, -0, true], '["é\\"\\n",1.5,0,true]'],
  ['undefined and NaN in a list as null', [null, undefined, Number.NaN], '[null,null,null]'],
  [
    'the keys of an object in a list in code-unit order',
    [1, { b: [], a: {} }],
    '[1,{"a":{},"b":[]}]',
  ],
  ['no undefined member of an object', { a: undefined, b: null }, '{"b":null}'],
  [
    'no undefined member of an object with sorted keys',
    { a: [], b: undefined, c: '' },
    '{"a":[],"c":""}',
  ],
  [
    'objects with sorted keys beside objects with unsorted keys',
    { c: [{ a: 1, b: [2, 'é"'] }, { b: { d: 1, c: [] }, a: null }, [[], {}], 'x'], a: { e: 'f' } },
    '{"a":{"e":"f"},"c":[{"a":1,"b":[2,"é\\""]},{"a":null,"b":{"c":[],"d":1}},[[],{}],"x"]}',
  ],
  [
    'escapes in names and in texts as JSON does',
    { z: '\u007f', '"': '\\', '\u0001': 'a\tb', é: ' !#[]~' },
    '{"\\u0001":"a\\tb","\\"":"\\\\","z":"\u007f","é":" !#[]~"}',
  ],
  ['undefined as null', undefined, 'null'],
])('canonical JSON writes %s', ([, value, text]) => {
  expect(toCanonicalJson(value)).toBe(text);
});

test('canonical JSON refuses values nested deeper than 64 levels', () => {
  const nested = (levels: number) => JSON.parse('['.repeat(levels) + ']'.repeat(levels)) as unknown;

  expect(() => toCanonicalJson(nested(64))).not.toThrow();
  expect(() => toCanonicalJson(nested(70))).toThrow(/deeper than 64 levels/);
});
