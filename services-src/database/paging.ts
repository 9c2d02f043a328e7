import * as z from 'zod';

import { AppError } from '#errors';

/** What a caller asks of a list: how many rows, and where the previous page ended. */
export interface PageRequest {
  readonly limit: number;
  readonly cursor: string | null;
}

export interface Page<Item> {
  readonly items: Item[];
  /** Null on the last page. */
  readonly next_cursor: string | null;
}

/** The values of one row that the list is sorted by. */
type Position = readonly (string | number)[];

/** Any text that Postgres can hold. */
export const textValue = z.string().regex(/^[^\0]+$/);

/** Positions of lists that are sorted by one value. */
export const positionSchemas = {
  id: z.tuple([z.uuid()]),
  /** A sequence number: a positive integer, which may need more than 32 bits. */
  number: z.tuple([z.int().positive()]),
  version: z.tuple([z.int32().positive()]),
  text: z.tuple([textValue]),
};

/**
 * Makes a page from rows. The caller reads one row more than the page may hold, which shows whether
 * there is a next page.
 */
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
 * Reads the position from a cursor; null without a cursor. Throws `invalid_request` for text that
 * is not a cursor of this kind of list.
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

/** Like `parseCursor`, for lists that are sorted by one value. */
export function parseSingleCursor<Value extends string | number>(
  cursor: string | null,
  position: z.ZodType<readonly [Value]>,
): Value | null {
  return parseCursor(cursor, position)?.[0] ?? null;
}
