import { AppError } from '#errors';

/** An opaque cursor: the sort values of the last row of a page. */
export function cursorOf(values: readonly (string | number)[]): string {
  return Buffer.from(JSON.stringify(values)).toString('base64url');
}

/** The sort values a cursor stands for; `invalid_request` for anything we did not hand out. */
export function parseCursor(cursor: string, length: number): string[] {
  try {
    const values: unknown = JSON.parse(Buffer.from(cursor, 'base64url').toString('utf8'));
    if (Array.isArray(values) && values.length === length) return values.map(String);
  } catch {
    // Falls through to the one error below.
  }
  throw new AppError(
    'invalid_request',
    'The cursor is not one we handed out; start again without a cursor.',
  );
}
