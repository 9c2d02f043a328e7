import type { Principal } from '#contracts/vocabulary';
import { AppError } from '#errors';

/**
 * Limits the subscriptions and events that a caller may read or change: null for the whole org
 * (admins, and auditors that read), the caller's own identity for other members.
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
