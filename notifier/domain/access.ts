import type { Principal } from '#contracts/vocabulary';
import { AppError } from '#errors';

/**
 * Whose subscriptions and events a caller deals with: null for the whole org (admins, and
 * auditors when reading), its own id for a member.
 */
export function subtreeOf(principal: Principal, purpose: 'read' | 'write'): string | null {
  if (principal.role === 'admin') return null;
  if (principal.role === 'auditor') {
    if (purpose === 'read') return null;
    throw new AppError('forbidden', 'Auditors change nothing; ask an admin for the webhook.');
  }
  return principal.identityId;
}
