import type { AppError } from '#errors';
import { invalidParamsError } from '../../calls/domain/invalid-params.ts';

/**
 * The `invalid_params` error about the pattern of a rule. It suggests the pattern that the person
 * probably meant.
 */
export function refusedPattern(
  message: string,
  suggestion?: string,
  { expected }: { expected?: string } = {},
): AppError {
  const issue = {
    path: 'pattern',
    message,
    ...(expected === undefined ? {} : { expected }),
    ...(suggestion === undefined ? {} : { did_you_mean: suggestion }),
  };
  return invalidParamsError([issue], 'rule');
}
