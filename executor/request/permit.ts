import type { Gap, Permit } from '#contracts/permit';
import { AppError } from '#errors';
import { isEarly, isExpired } from '#signing';

/**
 * The fields that a permit and a permission gap have in common: what policy has found out about a
 * call.
 */
export type PermitOrGap = Pick<Permit, keyof Permit & keyof Gap>;

/**
 * Refuses a permit that has expired, or was issued in the future. The error is retryable: a permit
 * lives only five seconds, so an expired one is not suspicious, and nothing was sent.
 */
export function requireLivePermit({ issuedAt, expiresAt }: Permit): void {
  if (!isExpired(expiresAt) && !isEarly(issuedAt)) return;
  throw new AppError(
    'unavailable',
    'The call could not start in time. Nothing was sent; try again.',
    {
      details: { component: 'executor', expired: true },
    },
  );
}
