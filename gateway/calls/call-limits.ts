import type { Caller } from '../authentication/caller.ts';
import type { Deps } from '../deps.ts';
import type { CallLimits } from './domain/call-body.ts';

/**
 * Returns the limits for one call. If params or a body are sent as JSON text, the limits on the
 * request count this text as a single value. The values inside the text are therefore charged to
 * the caller's rate limit separately.
 */
export function limitsOfCall(
  { limits, rates }: Pick<Deps, 'limits' | 'rates'>,
  caller: Caller,
): CallLimits {
  return {
    ...limits,
    onJsonText({ values }) {
      const refusal = rates.countBody(caller, { bytes: 0, values })?.refusal;
      if (refusal) throw refusal;
    },
  };
}
