import { expect, test } from 'vitest';

import { allowedMsOf, cpuMsOf } from '../../test/support/cpu.ts';
import { refuseOverrideInBody } from './method-override.ts';

test('the check for method overrides looks in the template (isKnown) only for body members that could override the method', () => {
  const askedNames: string[] = [];
  const isKnown = (name: string) => {
    askedNames.push(name);
    return name === '_method';
  };
  const manyHeaders = Object.fromEntries(
    Array.from({ length: 1_000 }, (_, index) => [`m${index}`, 1]),
  );

  refuseOverrideInBody({ ...manyHeaders, _method: 'a way to pay' }, undefined, isKnown);
  expect(askedNames).toEqual(['_method']);
  expect(() =>
    refuseOverrideInBody({ ...manyHeaders, ' method': 'PUT' }, undefined, isKnown),
  ).toThrow('would change the method');
});

test.for<[name: string, mediaType: string]>([
  [String.raw`\_method`, 'multipart/form-data'],
  [String.raw`chan\nel`, 'multipart/form-data; boundary=x'],
  ['x"', 'multipart/form-data'],
  ['x\r\ny', 'multipart/form-data'],
  [String.raw`\_method`, 'application/x-www-form-urlencoded'],
])(
  'the field %j is refused in a %s, because servers read its name in different ways',
  ([name, mediaType]) => {
    const refuse = (body: Record<string, unknown>) => () =>
      refuseOverrideInBody(body as Record<string, string>, mediaType);
    expect(refuse({ [name]: 'DELETE' })).toThrow('read in different ways');
    expect(refuse({ plain: 'x' })).not.toThrow();
  },
);

test('the name of a nested member is refused in a form, and not where it is sent as JSON', () => {
  const body = { metadata: { 'a "quoted" name': 1 } };
  expect(() => refuseOverrideInBody(body, 'application/x-www-form-urlencoded')).toThrow('quotes');
  expect(() => refuseOverrideInBody(body, 'multipart/form-data')).not.toThrow();
  expect(() => refuseOverrideInBody(body, 'application/json')).not.toThrow();
});

test.for<[what: string, text: string, mediaType: string]>([
  ['bytes that are not UTF-8', '%80&'.repeat(100_000), 'application/x-www-form-urlencoded'],
  ['long ones', '%80%80%80%80&'.repeat(30_000), 'application/x-www-form-urlencoded'],
  ['empty ones', `method${'&'.repeat(400_000)}`, 'application/x-www-form-urlencoded'],
  ['parts', `method${'name=%80 '.repeat(45_000)}`, 'multipart/form-data'],
])(
  'searching the names in a text body takes about as long as parsing JSON of its size: %s',
  ([, text, mediaType]) => {
    const check = () => refuseOverrideInBody(text, mediaType);
    expect(cpuMsOf(check)).toBeLessThan(10 * allowedMsOf(JSON.stringify(text)));
  },
);
