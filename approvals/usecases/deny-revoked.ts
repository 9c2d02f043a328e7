import { deadlineIn } from '#bus';
import { isRequesterActive } from '../deciding/standing.ts';
import type { Deps } from '../deps.ts';
import { listOpenRequesters } from '../repository/approval-lists.ts';
import { takeChainsToCheck } from '../repository/due.ts';
import { denyRevoked } from '../transitions/approval.ts';

const requestersMax = 200;
const checkMs = 2_000;

/** After an identity changed: denies what requesters at or below it have open, where they may not act any more. */
export async function denyRevokedBelow(
  deps: Deps,
  { orgId, identityIds }: { orgId: string; identityIds: readonly string[] },
): Promise<void> {
  const requesters = await listOpenRequesters(deps.db, {
    orgId,
    identityIds,
    limit: requestersMax,
  });
  for (const requesterId of requesters) await denyIfInactive(deps, { orgId, requesterId });
}

/** The same for those whose event was missed: each open approval's chain is looked at once a minute. */
export async function denyRevokedOverdue(deps: Deps, limit: number): Promise<number> {
  const due = await takeChainsToCheck(deps.db, limit);
  for (const requester of due) await denyIfInactive(deps, requester);
  return due.length;
}

async function denyIfInactive(
  deps: Deps,
  requester: { orgId: string; requesterId: string },
): Promise<void> {
  try {
    if (await isRequesterActive(deps, requester, deadlineIn(checkMs))) return;
    const denied = await denyRevoked(deps.db, requester);
    if (denied > 0)
      deps.logger.info({ ...requester, denied, reason: 'requester_revoked' }, 'approvals denied');
  } catch (error) {
    deps.logger.warn({ err: error, ...requester }, 'chain could not be checked yet');
  }
}
