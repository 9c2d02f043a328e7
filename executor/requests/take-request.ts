import { v7 as uuidv7 } from 'uuid';

import type { Transaction } from '#database';
import { AppError } from '#errors';
import { findRefusal } from '#shares';
import type { CallerIds } from '#shares';
import { addShareUse, lockHeldShares } from '../repository/share-use.ts';

/** As for approvals, it is one person's patience that is shared out. */
const levels = [
  { name: 'user', percent: 25 },
  { name: 'identity', percent: 50 },
] as const;
const hourSeconds = 3_600;
const retrySeconds = 600;

/** Counts a request to a person, for an account or a secret. Throws `rate_limited` beyond the caller's share of an hour. */
export async function takeRequest(
  tx: Transaction,
  { orgId, userId, identityId }: CallerIds,
  perHour: number,
): Promise<void> {
  if (perHour === 0) return;
  const use = { id: uuidv7(), pool: 'requests', orgId, userId, identityId } as const;
  // What is held of the pool is what the org holds: each org has a pool of its own.
  const [, ...held] = await lockHeldShares(tx, use);
  const refusal = findRefusal({ capacity: perHour, levels }, held);
  if (refusal !== null) {
    const whose = refusal === 'pool' ? 'org' : refusal;
    throw new AppError(
      'rate_limited',
      `Too many requests for accounts and secrets of this ${whose} within an hour; wait, those that were made are not forgotten.`,
      { details: { retry_after: retrySeconds } },
    );
  }
  await addShareUse(tx, { ...use, amount: 1, seconds: hourSeconds });
}
