import type { Event } from '#contracts/events';
import type { CallContext, Principal } from '#contracts/vocabulary';
import { auditEntryOf } from './audit-entry.ts';

/** The caller who changes something, and the id of the request. */
export interface ChangeOrigin {
  readonly caller: Principal;
  readonly context: CallContext;
}

/**
 * Builds the event, with its audit entry, about a change that an admin made or that a user made to
 * their own account.
 */
export function createChangeEvent(
  type:
    | 'org.changed'
    | 'password.changed'
    | 'session.ended'
    | 'sign_in_link.created'
    | 'sign_in_provider.changed'
    | 'user.invited',
  { caller, context }: ChangeOrigin,
  change: {
    audience: readonly string[];
    data: Event['data'];
    description: string;
  },
) {
  const { audience, data, description } = change;
  return {
    type,
    orgId: caller.orgId,
    audience,
    data,
    audit: auditEntryOf(caller, context, description),
  };
}
