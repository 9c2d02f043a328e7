import { deadlineIn } from '#bus';
import { getRequesterStanding, hasEnded } from '../deciding/standing.ts';
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
  for (const requesterId of requesters) await denyIfEnded(deps, { orgId, requesterId });
}

/** The same for those whose event was missed: each open approval's chain is looked at once a minute. */
export async function denyRevokedOverdue(deps: Deps, limit: number): Promise<number> {
  const due = await takeChainsToCheck(deps.db, limit);
  for (const requester of due) await denyIfEnded(deps, requester);
  return due.length;
}

/** What an archived requester has open waits for its restoration, as long as its own clock runs. */
async function denyIfEnded(
  deps: Deps,
  requester: { orgId: string; requesterId: string },
): Promise<void> {
  try {
    const standing = await getRequesterStanding(deps, requester, deadlineIn(checkMs));
    if (!hasEnded(standing)) return;
    const denied = await denyRevoked(deps.db, requester, standing);
    if (denied > 0)
      deps.logger.info({ ...requester, denied, reason: standing }, 'approvals denied');
  } catch (error) {
    deps.logger.warn({ err: error, ...requester }, 'chain could not be checked yet');
  }
}
