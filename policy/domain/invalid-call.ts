import { AppError } from '#errors';

/** One thing that is wrong with a call's arguments, as `invalid_params` lists it (docs/reference/errors.md#codes). */
export interface Issue {
  /** Dotted: `labels.0`. */
  readonly path: string;
  readonly message: string;
  readonly expected?: string;
  readonly did_you_mean?: string;
}

export function invalidParams(issues: readonly Issue[], what: 'call' | 'rule' = 'call'): AppError {
  const [first] = issues;
  const more = issues.length > 1 ? ` (and ${issues.length - 1} more)` : '';
  const hint = first?.did_you_mean === undefined ? '' : ` Did you mean "${first.did_you_mean}"?`;
  const text = first === undefined ? 'The params are not valid.' : `${first.path} ${first.message}`;
  return new AppError('invalid_params', `Correct the ${what}: ${text}${more}.${hint}`, {
    details: { issues: issues.map((issue) => ({ ...issue })) },
  });
}

export function invalidParam(path: string, message: string): AppError {
  return invalidParams([{ path, message }]);
}
