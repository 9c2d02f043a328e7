import type { AppError } from '#errors';
import { invalidParams } from './invalid-call.ts';

/** `invalid_params` about a rule's pattern, with what was probably meant. */
export function refusedPattern(
  message: string,
  meant?: string,
  { expected }: { expected?: string } = {},
): AppError {
  const issue = {
    path: 'pattern',
    message,
    ...(expected === undefined ? {} : { expected }),
    ...(meant === undefined ? {} : { did_you_mean: meant }),
  };
  return invalidParams([issue], 'rule');
}
