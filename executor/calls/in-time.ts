import type { Deadline } from '#bus';
import { AppError } from '#errors';

/** The executor answers this long before the caller stops waiting. */
const answerMarginMs = 1_000;

/**
 * Limits the time of work that comes before a call is sent. Otherwise a database that hangs could
 * delay the call until the caller stops waiting, without knowing that nothing was sent.
 */
export async function awaitInTime<T>(
  work: Promise<T>,
  deadline: Deadline,
  msMax = Infinity,
): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const timeoutRejection = new Promise<never>((_, reject) => {
    const waitMs = Math.min(msMax, Math.max(1, deadline.remainingMs() - answerMarginMs));
    timer = setTimeout(() => reject(unsentError()), waitMs);
  });
  // Nobody waits for a failure that comes after the time limit.
  work.catch(() => undefined);
  try {
    return await Promise.race([work, timeoutRejection]);
  } finally {
    clearTimeout(timer);
  }
}

/**
 * The error for a call that could not be prepared or recorded, and so was not sent. The detail
 * `unsent` tells approvals that another attempt cannot send the call twice.
 */
export function unsentError(cause?: unknown): AppError {
  return new AppError(
    'unavailable',
    'The call could not be made ready and recorded, so nothing was sent; try again shortly.',
    { details: { unsent: true }, cause },
  );
}
