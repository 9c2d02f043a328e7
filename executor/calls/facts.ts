import type { Gap, Permit } from '#contracts/permit';
import { AppError } from '#errors';

/** What permits and gaps have in common: everything policy found out about a call. */
export type CallFacts = Pick<Permit, keyof Permit & keyof Gap>;

/** Clocks of two components may differ by this much. */
const clockSkewMs = 1_000;

/**
 * A permit lives five seconds. One that ran out on the way is no forgery: nothing was sent, and
 * the same call may be made again.
 */
export function requireLivePermit({ expiresAt }: Permit): void {
  if (Date.now() <= expiresAt + clockSkewMs) return;
  throw new AppError(
    'unavailable',
    'The call could not start in time. Nothing was sent; try again.',
    {
      details: { component: 'executor', expired: true },
    },
  );
}
