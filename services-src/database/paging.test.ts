import { describe, expect, test } from 'vitest';

import { cursorOf, pageOf, parseCursor, parseSingleCursor, positions } from './paging.ts';

const rows = [1, 2, 3].map((n) => ({ n }));
const of = ({ n }: { n: number }) => [n];
const refused = { code: 'invalid_request' };

describe('a page', () => {
  test('ends with a cursor when there are more rows than it holds', () => {
    const { items, next_cursor } = pageOf(rows, 2, of);
    expect(items).toEqual([{ n: 1 }, { n: 2 }]);
    expect(parseSingleCursor(next_cursor, positions.number)).toBe(2);
  });

  test.for([3, 4])('has no next one when %i rows fit', (limit) => {
    expect(pageOf(rows, limit, of)).toEqual({ items: rows, next_cursor: null });
  });

  test('of nothing has no next one', () => {
    expect(pageOf([], 2, of)).toEqual({ items: [], next_cursor: null });
  });
});

describe('a cursor', () => {
  test('is null without a page before', () => {
    expect(parseCursor(null, positions.id)).toBeNull();
    expect(parseSingleCursor(null, positions.id)).toBeNull();
  });

  test.for([
    ['of another list', cursorOf([7]), positions.id],
    ['that is no base64', '%%%', positions.id],
    ['that is no JSON', Buffer.from('{').toString('base64url'), positions.id],
    ['of too many values', cursorOf([1, 2]), positions.number],
    ['of a fraction', cursorOf([1.5]), positions.number],
    ['of a number beyond exact ones', cursorOf([2 ** 60]), positions.number],
    ['of a version beyond 32 bits', cursorOf([2 ** 31]), positions.version],
    ['with a NUL, which Postgres cannot hold', cursorOf(['a\0b']), positions.text],
    ['of empty text', cursorOf(['']), positions.text],
  ] as const)('%s is refused', ([, cursor, position]) => {
    expect(() => parseCursor(cursor, position as never)).toThrow(expect.objectContaining(refused));
  });
});
