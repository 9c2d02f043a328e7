import { expect, test } from 'vitest';

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
