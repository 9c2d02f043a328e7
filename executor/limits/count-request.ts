import { v7 as uuidv7 } from 'uuid';

import type { Transaction } from '#database';
import { AppError } from '#errors';
import { findRefusal } from '#shares';
import type { CallerIds } from '#shares';
import { addShareUse, lockHeldShares } from './share-use.sql.ts';

/** The percentages are the same as for approvals, because these requests take people's time too. */
const requestLevels = [
  { name: 'user', percent: 25 },
  { name: 'identity', percent: 50 },
] as const;
const hourSeconds = 3_600;
const retrySeconds = 600;

/**
 * Counts a request to a person (for an account or a secret). Throws `rate_limited` when the caller
 * has used up its hourly share.
 */
export async function countRequest(
  tx: Transaction,
  { orgId, userId, identityId }: CallerIds,
  perHour: number,
): Promise<void> {
  if (perHour === 0) return;
  const shareUse = { id: uuidv7(), pool: 'requests', orgId, userId, identityId } as const;
  // Requests have one pool per org, so the first entry (the pool) and the second (the org) are
  // equal. The first is dropped.
  const [, ...held] = await lockHeldShares(tx, shareUse);
  const refusal = findRefusal({ capacity: perHour, levels: requestLevels }, held);
  if (refusal !== null) {
    const limitedOwner = refusal === 'pool' ? 'org' : refusal;
    throw new AppError(
      'rate_limited',
      `Too many requests for accounts and secrets of this ${limitedOwner} within an hour; wait, those that were made are not forgotten.`,
      { details: { retry_after: retrySeconds } },
    );
  }
  await addShareUse(tx, { ...shareUse, amount: 1, seconds: hourSeconds });
}
