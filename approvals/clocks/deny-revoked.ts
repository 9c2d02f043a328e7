import { deadlineIn } from '#bus';
import { listRequestersWithOpenApprovals } from '../approval/approval-lists.sql.ts';
import { getRequesterStanding, hasEnded } from '../decisions/deciders.ts';
import type { Deps } from '../deps.ts';
import { denyRevoked } from '../moves/approval-moves.ts';
import { takeChainsToCheck } from './due.sql.ts';

const requestersMax = 200;
const chainCheckTimeoutMs = 2_000;

/**
 * Denies open approvals after an identity was revoked or has expired: the approvals of the identity
 * and its descendants.
 */
export async function denyRevokedBelow(
  deps: Deps,
  { orgId, identityIds }: { orgId: string; identityIds: readonly string[] },
): Promise<void> {
  const requesters = await listRequestersWithOpenApprovals(deps.db, {
    orgId,
    identityIds,
    limit: requestersMax,
  });
  for (const requesterId of requesters) await denyIfEnded(deps, { orgId, requesterId });
}

/**
 * Denies the open approvals of requesters that were revoked or have expired, when the event was
 * missed. Checks the chain of each open approval once a minute.
 */
export async function denyRevokedOverdue(deps: Deps, limit: number): Promise<number> {
  const dueChains = await takeChainsToCheck(deps.db, limit);
  for (const requester of dueChains) await denyIfEnded(deps, requester);
  return dueChains.length;
}

/** Approvals of an archived requester stay open until they expire, because the requester may be restored. */
async function denyIfEnded(
  deps: Deps,
  requester: { orgId: string; requesterId: string },
): Promise<void> {
  try {
    const requesterStanding = await getRequesterStanding(
      deps,
      requester,
      deadlineIn(chainCheckTimeoutMs),
    );
    if (!hasEnded(requesterStanding)) return;
    const deniedApprovals = await denyRevoked(deps.db, requester, requesterStanding);
    if (deniedApprovals > 0)
      deps.logger.info(
        { ...requester, denied: deniedApprovals, reason: requesterStanding },
        'approvals denied',
      );
  } catch (error) {
    deps.logger.warn({ err: error, ...requester }, 'chain could not be checked yet');
  }
}
