import { blankAuditEntry } from '#contracts/audit';
import type { Principal } from '#contracts/vocabulary';
import { AppError } from '#errors';
import type { createEvent } from '#events';
import { actorOf } from '../credentials/actor.ts';
import type { Actor } from '../credentials/actor.ts';

/**
 * Throws unless the caller is an admin. The whole org uses a provider app, so only admins may set
 * it up.
 */
export function requireAdmin(principal: Principal): Principal {
  if (principal.kind === 'user' && principal.role === 'admin') return principal;
  throw new AppError('forbidden', 'Only admins set up providers; ask one to.');
}

export function createOauthAppEvent({
  provider,
  text,
  by,
}: {
  provider: string;
  text: string;
  by: Actor;
}): Parameters<typeof createEvent>[0] {
  return {
    type: 'oauth_app.changed',
    orgId: by.principal.orgId,
    audience: [by.principal.userId],
    data: { provider },
    audit: { ...blankAuditEntry(text), ...actorOf(by) },
  };
}
