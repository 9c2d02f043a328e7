import { validate } from 'uuid';

import { parseCursor } from '#database';
import { AppError } from '#errors';

/** The id after which a page goes on; null from the beginning. */
export function parseIdCursor(cursor: string | null): string | null {
  if (cursor === null) return null;
  const [id = ''] = parseCursor(cursor, 1);
  if (validate(id)) return id;
  throw notOurs();
}

/** The same for OAuth clients, whose ids are any text that Postgres can hold. */
export function parseClientCursor(cursor: string | null): string | null {
  if (cursor === null) return null;
  const [id = ''] = parseCursor(cursor, 1);
  if (id !== '' && !id.includes('\0')) return id;
  throw notOurs();
}

function notOurs(): AppError {
  return new AppError(
    'invalid_request',
    'The cursor is not one we handed out; start again without a cursor.',
  );
}
