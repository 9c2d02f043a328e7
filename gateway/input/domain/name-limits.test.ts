import { expect, test } from 'vitest';

import { refuseManyNames } from './name-limits.ts';

const limits = { queryValuesMax: 10 };

test('a body with too many names in query, headers or variables is refused', () => {
  const namesOverLimit = Object.fromEntries(
    Array.from({ length: 201 }, (_, index) => [`n${index}`, 0]),
  );

  expect(() => refuseManyNames({ query: namesOverLimit }, limits)).toThrow(
    expect.objectContaining({ details: { limit: 'query_values', max: 10 } }),
  );
  expect(() => refuseManyNames({ headers: namesOverLimit }, limits)).toThrow(
    expect.objectContaining({ details: { limit: 'headers', max: 200 } }),
  );
  expect(() => refuseManyNames({ variables: namesOverLimit }, limits)).toThrow(
    expect.objectContaining({ details: { limit: 'variables', max: 200 } }),
  );
  for (const body of [undefined, null, 'text', [], { query: 'text', headers: { a: 0 } }]) {
    expect(() => refuseManyNames(body, limits)).not.toThrow();
  }
});
