import type { Deadline } from '#bus';
import { AppError } from '#errors';

/**
 * Waits for a token request that another call may have started, at most until this call's own
 * deadline.
 */
export async function waitWithin<T>(deadline: Deadline, work: Promise<T>): Promise<T> {
  const { signal } = deadline;
  const { promise: deadlinePassed, reject } = Promise.withResolvers<never>();
  const rejectAtDeadline = () =>
    reject(
      new AppError(
        'upstream_timeout',
        'The provider did not answer the request for a new access token in time; try again.',
      ),
    );
  if (signal.aborted) rejectAtDeadline();
  else signal.addEventListener('abort', rejectAtDeadline, { once: true });
  try {
    return await Promise.race([work, deadlinePassed]);
  } finally {
    signal.removeEventListener('abort', rejectAtDeadline);
  }
}
