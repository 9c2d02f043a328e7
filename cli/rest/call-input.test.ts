import { expect, test } from 'vitest';

import { readHeaders, readParams, readSecret } from './call-input.ts';

test.each([
  [[], undefined, '{}'],
  [['a=1', 'b=x=y'], undefined, '{"a":"1","b":"x=y"}'],
  [['n:=1', 'list:=["a"]', 'o:={"b":null}'], undefined, '{"n":1,"list":["a"],"o":{"b":null}}'],
  [['a='], undefined, '{"a":""}'],
  [['a="\n'], ' { } ', '{"a":"\\"\\n"}'],
  [['a=2'], '{"b":3} ', '{"b":3,"a":"2"}'],
  [[], '{"id": 12345678901234567890}', '{"id": 12345678901234567890}'],
  [['p:=0.12345678901234567890'], '{"n":1e400}', '{"n":1e400,"p":0.12345678901234567890}'],
  [['o:={"a":1,"a":2}'], undefined, '{"o":{"a":1,"a":2}}'],
  [['__proto__=x'], undefined, '{"__proto__":"x"}'],
])(
  'the options --param %j and --json-params %j give the JSON text %s',
  (params, json, expected) => {
    expect(readParams(params, json)).toBe(expected);
  },
);

test.each([
  [['a'], undefined, 'name=value'],
  [['=x'], undefined, 'name=value'],
  [['a=1', 'a=2'], undefined, 'given twice'],
  [['a=2'], '{"a":1}', 'given twice'],
  [['a:=CANARY'], undefined, '--param a is not JSON'],
  [[], '[1]', 'not a JSON object'],
  [[], 'CANARY', '--json-params is not JSON'],
])('the options --param %j and --json-params %j are refused', (params, json, message) => {
  expect(() => readParams(params, json)).toThrow(message);
  expect(() => readParams(params, json)).not.toThrow(/CANARY/);
});

test('a header is split at its first colon', () => {
  expect(readHeaders(['Accept: text/plain', 'X-Time:12:30'])).toEqual({
    Accept: 'text/plain',
    'X-Time': '12:30',
  });
});

test.each([['Accept'], [': x'], ['A b: c']])('the header %j is refused', (header) => {
  expect(() => readHeaders([header])).toThrow("'Name: value'");
});

test.each([
  ['t=header:X-Token', { name: 't', in: 'header', key: 'X-Token' }],
  ['org/t=query:key', { name: 'org/t', in: 'query', key: 'key' }],
  [
    't=header:Authorization:Bearer ',
    { name: 't', in: 'header', key: 'Authorization', prefix: 'Bearer ' },
  ],
])('the option --secret %j is read', (secret, expected) => {
  expect(readSecret(secret)).toEqual(expected);
});

test.each(['t', 't=header', 't=cookie:x', '=header:x', 't=header:'])(
  'the option --secret %j is refused',
  (secret) => {
    expect(() => readSecret(secret)).toThrow('name=header:Header-Name');
  },
);
