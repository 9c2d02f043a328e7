import { z } from 'zod';

import type { Bus } from '#bus';
import { event as eventSchema } from '#contracts/events';
import { id } from '#contracts/vocabulary';
import { onEvents } from '#events';
import type { Deps } from './deps.ts';
import { denyRevokedBelow } from './usecases/deny-revoked.ts';

const revocation = 'evt.auth.identity.revoked';
const change = 'evt.auth.identity.changed';
const named = z.object({ identity_id: id, revoked_ids: z.array(id).max(10_000).optional() });

/**
 * Drops caches when anything changes in `auth`, and denies at once what a revoked identity and
 * its subtree have open. Every replica hears it; the row decides which of them does it. What is
 * missed here the chain checks find.
 */
export function listen(bus: Bus, deps: Deps, dropCaches: () => void): Disposable {
  return onEvents(bus, ['evt.auth.>'], (message) => {
    dropCaches();
    if (message?.subject !== revocation && message?.subject !== change) return;
    const parsed = eventSchema.safeParse(message.body);
    if (!parsed.success) return;
    const { org_id: orgId, data, audience } = parsed.data;
    const who = named.safeParse(data);
    const identityIds = who.success
      ? [who.data.identity_id, ...(who.data.revoked_ids ?? [])]
      : audience;
    denyRevokedBelow(deps, { orgId, identityIds }).catch((error: unknown) =>
      deps.logger.warn({ err: error }, 'revocation is left to the chain checks'),
    );
  });
}
