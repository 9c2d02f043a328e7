import { describe, expect, test } from 'vitest';

import { paramOf } from '../../request/domain/action.testing.ts';
import { nextPageParamsOf } from './next-page.ts';

describe('the params for the next page', () => {
  const params = [
    paramOf({ name: 'owner', in: 'path' }),
    paramOf({ name: 'page', in: 'query', schema: { type: 'integer' } }),
    paramOf({ name: 'cursor', in: 'query' }),
    paramOf({ name: 'query_owner', wireName: 'owner', in: 'query' }),
    paramOf({
      name: 'ids',
      in: 'query',
      style: 'pipeDelimited',
      explode: false,
      schema: { type: 'array' },
    }),
  ];
  const options = { params, given: { owner: 'o', page: 1 }, url: 'https://api.example.com/r/o' };

  test('are the params of this page, updated with the query of the link', () => {
    const link =
      '<https://api.example.com/r/o?page=1>; rel="prev", </repositories/1?page=3&x=y>; title="a, b"; rel="next last"';

    expect(nextPageParamsOf(link, options)).toEqual({ owner: 'o', page: 3 });
  });

  test('have the names and list styles of the action’s params', () => {
    const link = '</r?owner=x&ids=a%7Cb>; rel=next';

    expect(nextPageParamsOf(link, options)).toEqual({
      owner: 'o',
      page: 1,
      query_owner: 'x',
      ids: ['a', 'b'],
    });
  });

  test.for([
    undefined,
    '<https://evil.example/?page=3>; rel=next',
    '<https://api.example.com/?page=3>; rel=prev',
    '<https://api.example.com/?other=3>; rel=next',
    'nonsense',
  ])('are undefined when the Link header is %j', (link) => {
    expect(nextPageParamsOf(link, options)).toBeUndefined();
  });
});
