import { describe, expect, test } from 'vitest';

import { cursorOf, pageOf, parseCursor, parseSingleCursor, positionSchemas } from './paging.ts';

const rows = [1, 2, 3].map((n) => ({ n }));
const of = ({ n }: { n: number }) => [n];
const refused = { code: 'invalid_request' };

describe('a page of a list', () => {
  test('has a cursor to the next page when there are more rows than it holds', () => {
    const { items, next_cursor } = pageOf(rows, 2, of);
    expect(items).toEqual([{ n: 1 }, { n: 2 }]);
    expect(parseSingleCursor(next_cursor, positionSchemas.number)).toBe(2);
  });

  test.for([3, 4])('has no cursor to a next page when all %i rows fit', (limit) => {
    expect(pageOf(rows, limit, of)).toEqual({ items: rows, next_cursor: null });
  });

  test('has no cursor to a next page when it has no rows', () => {
    expect(pageOf([], 2, of)).toEqual({ items: [], next_cursor: null });
  });
});

describe('the cursor of a page', () => {
  test('is null for the first page', () => {
    expect(parseCursor(null, positionSchemas.id)).toBeNull();
    expect(parseSingleCursor(null, positionSchemas.id)).toBeNull();
  });

  test.for([
    ['of another kind of list', cursorOf([7]), positionSchemas.id],
    ['that is no base64', '%%%', positionSchemas.id],
    ['that is no JSON', Buffer.from('{').toString('base64url'), positionSchemas.id],
    ['with too many values', cursorOf([1, 2]), positionSchemas.number],
    ['with a fraction', cursorOf([1.5]), positionSchemas.number],
    ['with a number that is too large to be exact', cursorOf([2 ** 60]), positionSchemas.number],
    ['with a version number of more than 32 bits', cursorOf([2 ** 31]), positionSchemas.version],
    ['with a NUL, which Postgres cannot hold', cursorOf(['a\0b']), positionSchemas.text],
    ['with an empty text', cursorOf(['']), positionSchemas.text],
  ] as const)('%s is refused', ([, cursor, position]) => {
    expect(() => parseCursor(cursor, position as never)).toThrow(expect.objectContaining(refused));
  });
});
