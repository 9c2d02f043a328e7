import type { Gap, Permit } from '#contracts/permit';
import { AppError } from '#errors';
import { isExpired } from '#signing';

/** What permits and gaps have in common: everything policy found out about a call. */
export type CallFacts = Pick<Permit, keyof Permit & keyof Gap>;

/**
 * A permit lives five seconds. One that ran out on the way is no forgery: nothing was sent, and
 * the same call may be made again.
 */
export function requireLivePermit({ expiresAt }: Permit): void {
  if (!isExpired(expiresAt)) return;
  throw new AppError(
    'unavailable',
    'The call could not start in time. Nothing was sent; try again.',
    {
      details: { component: 'executor', expired: true },
    },
  );
}
