import { z } from 'zod';

import type { Bus } from '#bus';
import { event as eventSchema } from '#contracts/events';
import { readTolerantly } from '#contracts/tolerant';
import { id } from '#contracts/vocabulary';
import { onEvents } from '#events';
import { denyRevokedBelow } from './clocks/deny-revoked.ts';
import type { Deps } from './deps.ts';

const revocationSubject = 'evt.auth.identity.revoked';
const changeSubject = 'evt.auth.identity.changed';
const changedIdentitySchema = z.object({
  identity_id: id,
  revoked_ids: z.array(id).max(10_000).optional(),
});

/**
 * Drops caches when anything changes in `auth`. Immediately denies the open approvals of a revoked
 * identity and its subtree. Every replica receives the event, but only one of them can change each
 * row, because the update checks the old state. The chain checks cover events that were missed.
 */
export function listenForIdentityChanges(bus: Bus, deps: Deps, dropCaches: () => void): Disposable {
  return onEvents(bus, ['evt.auth.>'], (message) => {
    dropCaches();
    if (message?.subject !== revocationSubject && message?.subject !== changeSubject) return;
    const parsedEvent = readTolerantly(eventSchema, message.body);
    if (!parsedEvent.success) return;
    const { org_id: orgId, data, audience } = parsedEvent.data;
    const parsedIdentity = changedIdentitySchema.safeParse(data);
    const identityIds = parsedIdentity.success
      ? [parsedIdentity.data.identity_id, ...(parsedIdentity.data.revoked_ids ?? [])]
      : audience;
    denyRevokedBelow(deps, { orgId, identityIds }).catch((error: unknown) =>
      deps.logger.warn({ err: error }, 'revocation is left to the chain checks'),
    );
  });
}
