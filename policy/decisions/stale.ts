import { AppError } from '#errors';

/**
 * The error for a call that has changed since it was approved; `changed` names what has changed.
 */
export function staleApprovalError(
  changed: 'service' | 'template' | 'credential' | 'permission' | 'resolver',
  sentence: string,
): AppError {
  return new AppError('approval_stale', `${sentence} Call again to ask anew.`, {
    details: { changed },
  });
}
