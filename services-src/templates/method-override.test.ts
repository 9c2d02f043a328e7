import { expect, test } from 'vitest';

import { refuseOverrideInBody } from './method-override.ts';

test('of the members of a body, those alone are asked about that could change the method', () => {
  const asked: string[] = [];
  const isKnown = (name: string) => {
    asked.push(name);
    return name === '_method';
  };
  const many = Object.fromEntries(Array.from({ length: 1_000 }, (_, index) => [`m${index}`, 1]));

  refuseOverrideInBody({ ...many, _method: 'a way to pay' }, undefined, isKnown);
  expect(asked).toEqual(['_method']);
  expect(() => refuseOverrideInBody({ ...many, ' method': 'PUT' }, undefined, isKnown)).toThrow(
    'would change the method',
  );
});
