import { deleteInParts } from '#database';
import { settleAsUnknown } from './outcome.ts';
import type { Deps } from '../deps.ts';
import { prunePendingConnections } from '../connections/connection.sql.ts';
import { eraseWaitingGrants } from '../account-values/waiting-grant.sql.ts';
import { pruneConnectionFlows } from '../connections/connection-flow.sql.ts';
import { eraseOldDispatches, listAbandonedDispatches } from './dispatches.sql.ts';
import { eraseOldFiles } from '../results/file.sql.ts';
import { eraseOldIdempotencyKeys } from './idempotency.sql.ts';
import { pruneSecretRequests } from '../secrets/secret-request.sql.ts';
import { pruneRequests } from '../person-requests/person-request.sql.ts';
import { expirePersonRequests } from '../person-requests/expire-requests.ts';
import { pruneShareUse } from '../limits/share-use.sql.ts';

/**
 * A second attempt of a call decides its abandoned dispatch at once. The sweep decides dispatches
 * for which no second attempt comes.
 */
const silentSeconds = 30;
const batchMax = 100;
const erasedRowsMax = 1_000;

/**
 * Sets the outcome of each dispatch that a dead executor left to unknown, exactly once. Also erases
 * outcomes, files and links that are too old.
 */
export async function sweepDispatches({ db, logger }: Pick<Deps, 'db' | 'logger'>): Promise<void> {
  const abandoned = await listAbandonedDispatches(db, { silentSeconds, limit: batchMax });
  for (const dispatch of abandoned) {
    const settledDispatch = await settleAsUnknown(db, dispatch);
    if (settledDispatch)
      logger.warn({ dispatchId: dispatch.dispatchId, reason: 'lease_passed' }, 'outcome unknown');
  }
  // Every call adds rows to these tables. If each run erased only a fixed number, the tables would
  // grow under load.
  for (const erase of [eraseOldDispatches, eraseOldIdempotencyKeys, eraseOldFiles, pruneShareUse])
    await deleteInParts((limit) => erase(db, { limit }), erasedRowsMax);
  await eraseWaitingGrants(db, { limit: erasedRowsMax });
  await pruneConnectionFlows(db, { limit: erasedRowsMax });
  await prunePendingConnections(db, { limit: erasedRowsMax });
  await pruneSecretRequests(db, { limit: erasedRowsMax });
  await expirePersonRequests(db, { limit: batchMax });
  await pruneRequests(db, { limit: erasedRowsMax });
}
