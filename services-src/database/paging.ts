import * as z from 'zod';

import { AppError } from '#errors';

/** What a caller asks of a list: how many, and where the page before ended. */
export interface PageRequest {
  readonly limit: number;
  readonly cursor: string | null;
}

export interface Page<Item> {
  readonly items: Item[];
  /** Null on the last page. */
  readonly next_cursor: string | null;
}

/** The values that a list is sorted by, of one row. */
type Position = readonly (string | number)[];

/** Any text that Postgres can hold. */
export const textValue = z.string().regex(/^[^\0]+$/);

/** Positions of lists that are sorted by one value. */
export const positions = {
  id: z.tuple([z.uuid()]),
  /** Whole and positive, beyond 32 bits: a sequence number. */
  number: z.tuple([z.int().positive()]),
  version: z.tuple([z.int32().positive()]),
  text: z.tuple([textValue]),
};

/** Cuts the page from rows of which one more was read than it may hold; says where the next begins. */
export function pageOf<Row>(
  rows: readonly Row[],
  limit: number,
  positionOf: (row: Row) => Position,
): Page<Row> {
  const items = rows.slice(0, limit);
  const last = rows.length > limit ? items.at(-1) : undefined;
  return { items, next_cursor: last === undefined ? null : cursorOf(positionOf(last)) };
}

/** An opaque cursor: the position of the last row of a page. */
export function cursorOf(position: Position): string {
  return Buffer.from(JSON.stringify(position)).toString('base64url');
}

/**
 * The position that a cursor stands for, null without one; `invalid_request` for anything but a
 * cursor of such a list.
 */
export function parseCursor<Values extends Position>(
  cursor: string | null,
  position: z.ZodType<Values>,
): Values | null {
  if (cursor === null) return null;
  try {
    return position.parse(JSON.parse(Buffer.from(cursor, 'base64url').toString('utf8')));
  } catch (cause) {
    throw new AppError(
      'invalid_request',
      'The cursor is not one we handed out; start again without a cursor.',
      { cause },
    );
  }
}

/** For lists that are sorted by one value. */
export function parseSingleCursor<Value extends string | number>(
  cursor: string | null,
  position: z.ZodType<readonly [Value]>,
): Value | null {
  return parseCursor(cursor, position)?.[0] ?? null;
}
