import { AppError } from '#errors';

/** Something a person approved is no longer so; `changed` says what. */
export function stale(
  changed: 'service' | 'template' | 'credential' | 'permission' | 'resolver',
  sentence: string,
): AppError {
  return new AppError('approval_stale', `${sentence} Call again to ask anew.`, {
    details: { changed },
  });
}
