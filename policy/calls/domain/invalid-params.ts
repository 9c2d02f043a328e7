import { AppError, shortenText } from '#errors';

/** One fault in a call's arguments, as `invalid_params` lists it (docs/reference/errors.md#codes). */
export interface Issue {
  /** A dotted path such as `labels.0`. */
  readonly path: string;
  readonly message: string;
  readonly expected?: string;
  readonly did_you_mean?: string;
}

export function invalidParamsError(
  issues: readonly Issue[],
  checkedInput: 'call' | 'rule' = 'call',
): AppError {
  const [first] = issues;
  const moreNote = issues.length > 1 ? ` (and ${issues.length - 1} more)` : '';
  const hint = first?.did_you_mean === undefined ? '' : ` Did you mean "${first.did_you_mean}"?`;
  const text =
    first === undefined
      ? 'The params are not valid.'
      : `${shortenText(first.path)} ${shortenText(first.message)}`;
  return new AppError('invalid_params', `Correct the ${checkedInput}: ${text}${moreNote}.${hint}`, {
    details: { issues: issues.map((issue) => ({ ...issue })) },
  });
}

export function invalidParamError(path: string, message: string): AppError {
  return invalidParamsError([{ path, message }]);
}
