import { z } from 'zod';

import type { Bus } from '#bus';
import { event as eventSchema } from '#contracts/events';
import { readTolerantly } from '#contracts/tolerant';
import { id, identityReference, name, tier } from '#contracts/vocabulary';
import { onEvents } from '#events';
import type { Deps } from '../deps.ts';
import { cancelRequestsOf } from './cancel-requests-of.ts';
import { finishRequest } from './finish-request.ts';

const connectedServiceData = z.object({
  service_id: id,
  name: name.optional(),
  tier,
  owner_id: id.nullable(),
  request_id: id,
  connected_by: identityReference,
});
const revokedIdentityData = z.object({ identity_id: id, revoked_ids: z.array(id).max(10_000) });

/**
 * Closes requests whose service was connected or whose requester was revoked. Every replica gets
 * each event, and the update of the row lets one of them act. If an event was missed, the same
 * check is made when a person opens the request (`check-request.ts`).
 */
export function listenForRequests(bus: Bus, deps: Pick<Deps, 'db' | 'logger'>): Disposable {
  const subjects = ['evt.registry.service.created', 'evt.auth.identity.revoked'];
  return onEvents(bus, subjects, (message) => {
    const parsedEvent = message && readTolerantly(eventSchema, message.body);
    if (!parsedEvent?.success) return;
    handleEvent(deps, parsedEvent.data).catch((error: unknown) =>
      deps.logger.warn({ err: error }, 'requests are left open until somebody looks'),
    );
  });
}

async function handleEvent(
  deps: Pick<Deps, 'db'>,
  { type, org_id: orgId, data }: z.infer<typeof eventSchema>,
): Promise<void> {
  if (type === 'service.created') {
    const service = connectedServiceData.safeParse(data);
    if (!service.success) return;
    const { request_id, service_id, owner_id, connected_by, ...rest } = service.data;
    await finishRequest(deps, {
      orgId,
      id: request_id,
      serviceId: service_id,
      serviceName: rest.name,
      tier: rest.tier,
      ownerId: owner_id,
      by: connected_by,
    });
  }
  if (type === 'identity.revoked') {
    const identity = revokedIdentityData.safeParse(data);
    if (!identity.success) return;
    const { identity_id, revoked_ids } = identity.data;
    await cancelRequestsOf(deps, { orgId, identityIds: [identity_id, ...revoked_ids] });
  }
}
