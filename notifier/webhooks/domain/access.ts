import type { Principal } from '#contracts/vocabulary';
import { AppError } from '#errors';

/**
 * The identity to whose subscriptions and events a caller is limited. Null for admins, and for
 * auditors who read: they have access to the whole org. Other members are limited to their own
 * identity.
 */
export function limitingIdentityIdOf(
  principal: Principal,
  purpose: 'read' | 'write',
): string | null {
  if (principal.role === 'admin') return null;
  if (principal.role === 'auditor') {
    if (purpose === 'read') return null;
    throw new AppError('forbidden', 'Auditors change nothing; ask an admin for the webhook.');
  }
  return principal.identityId;
}
