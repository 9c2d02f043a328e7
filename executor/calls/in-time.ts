import type { Deadline } from '#bus';
import { AppError } from '#errors';

/** The caller must get the answer before it stops waiting for the executor. */
const answerMarginMs = 1_000;

/**
 * Bounds work that comes before a call is sent. A database that hangs would otherwise hold
 * it for longer than the caller waits, and the caller could not know that nothing was sent.
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
 * The error for a call that could not be prepared or recorded, and so was not sent. With `unsent`,
 * approvals knows that another attempt cannot send the call twice.
 */
export function unsentError(cause?: unknown): AppError {
  return new AppError(
    'unavailable',
    'The call could not be made ready and recorded, so nothing was sent; try again shortly.',
    { details: { unsent: true }, cause },
  );
}
