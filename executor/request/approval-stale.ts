import { AppError } from '#errors';

/**
 * The error for a replay that would send another request than the approved one. `reason` is a
 * clause without a full stop.
 */
export function approvalStaleError(reason: string): AppError {
  return new AppError('approval_stale', `${reason}; nothing was sent. Ask for approval again.`);
}
