import { AppError } from './app-error.ts';

/**
 * Marks the refusal of something that this release cannot read. Nothing was done, and a replica of
 * another release may be able to read it, so the bus client asks again.
 */
export function markAskAgain({ code, message, details, cause }: AppError): AppError {
  return new AppError(code, message, { details: { ...details, ask_again: true }, cause });
}

export function isAskAgain(error: unknown): error is AppError {
  return error instanceof AppError && error.details['ask_again'] === true;
}

/**
 * The refusal without that mark, for the caller, when no replica that was asked can read the
 * request.
 */
export function toFinalRefusal({ code, message, details, cause }: AppError): AppError {
  const { ask_again: _, ...rest } = details;
  return new AppError(code, message, { details: rest, cause });
}

/** The refusal of a request or statement with critical members that this release does not know. */
export function unknownCritical(names: readonly string[]): AppError {
  return markAskAgain(
    new AppError(
      'unavailable',
      'A limit of this request is of a later release; try again shortly.',
      {
        details: { unknown_critical: names },
      },
    ),
  );
}

/** The refusal of something genuine, such as a statement, that this release cannot read. */
export function unreadable(what: string, cause: unknown): AppError {
  return markAskAgain(
    new AppError('unavailable', `The ${what} is of another release; try again shortly.`, {
      details: { unreadable: what },
      cause,
    }),
  );
}
