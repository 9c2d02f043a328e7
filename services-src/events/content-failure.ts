import { PostgresError } from '#database';

/**
 * The classes of Postgres errors for an invalid value (22) and for a value that exceeds a limit
 * (54).
 */
const valueErrorClasses = ['22', '54'];
/**
 * The errors for a null in a `not null` column and for a failed check constraint. Errors of unique
 * and foreign keys are missing here, because they depend on other rows.
 */
const valueErrorCodes = ['23502', '23514'];

/**
 * Whether handling an event failed because of the event's content, so that it would fail each time.
 */
export function isContentFailure(error: unknown): boolean {
  if (error instanceof RangeError) return true; // It is nested too deeply, or holds no valid time.
  if (!(error instanceof PostgresError)) return false;
  return valueErrorClasses.includes(error.code.slice(0, 2)) || valueErrorCodes.includes(error.code);
}
