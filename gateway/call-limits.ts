import type { Caller } from './authenticate.ts';
import type { Deps } from './deps.ts';
import type { CallLimits } from './domain/call-body.ts';

/**
 * What one call may hold. Params as JSON text are one value to who counts the body, so their own
 * values are charged to the caller when they have been counted.
 */
export function limitsOf(
  { limits, rates }: Pick<Deps, 'limits' | 'rates'>,
  caller: Caller,
  params: unknown,
): CallLimits {
  if (typeof params !== 'string') return limits;
  return {
    ...limits,
    onTextParams({ values }) {
      const refusal = rates.ofBody(caller, { bytes: 0, values })?.refusal;
      if (refusal) throw refusal;
    },
  };
}
