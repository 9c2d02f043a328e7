import type { IdentityReference, Tier } from '#contracts/vocabulary';
import type { Deps } from '../deps.ts';
import { findRequest } from './person-request.sql.ts';
import { settleAlone } from './settle-request.ts';

interface ConnectedService {
  readonly orgId: string;
  readonly id: string;
  readonly serviceId: string;
  readonly serviceName?: string | undefined;
  readonly tier: Tier;
  readonly ownerId: string | null;
  readonly by: IdentityReference;
}

/**
 * Closes a request as `ready` once the registry has committed the service. The registry sends a
 * request and later an event to the executor; whichever comes second has no effect. A service of
 * another owner does not close the request.
 */
export async function finishRequest(
  { db }: Pick<Deps, 'db'>,
  { orgId, id, serviceId, serviceName, tier, ownerId, by }: ConnectedService,
): Promise<Record<string, never>> {
  const request = await findRequest(db, { orgId, id });
  const isWanted =
    request?.kind === 'service' &&
    request.tier === tier &&
    (tier === 'org' || request.userId === ownerId);
  if (isWanted) {
    const closer = { decidedBy: by, audit: { user_id: by.id, identity: by } };
    await settleAlone(db, closer, {
      request,
      status: 'ready',
      serviceId,
      serviceName: serviceName ?? null,
    });
  }
  return {};
}
