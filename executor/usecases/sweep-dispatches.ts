import { settleAbandoned } from '../calls/outcome.ts';
import type { Deps } from '../deps.ts';
import { prunePendingConnections } from '../repository/connection.ts';
import { pruneConnectionFlows } from '../repository/connection-flow.ts';
import { eraseOldDispatches, listAbandonedDispatches } from '../repository/dispatch.ts';
import { eraseOldFiles } from '../repository/file.ts';
import { eraseOldIdempotency } from '../repository/idempotency.ts';
import { pruneSecretRequests } from '../repository/secret-request.ts';
import { pruneShareUse } from '../repository/share-use.ts';

/** Who asks again settles a dispatch at once; this is for those that nobody asks about. */
const silentSeconds = 30;
const batchMax = 100;
const eraseMax = 1_000;

/** Calls what dead executors left behind unknown, each exactly once, and erases outcomes and files of yesterday. */
export async function sweepDispatches({ db, logger }: Pick<Deps, 'db' | 'logger'>): Promise<void> {
  const abandoned = await listAbandonedDispatches(db, { silentSeconds, limit: batchMax });
  for (const dispatch of abandoned) {
    const settled = await settleAbandoned(db, dispatch);
    if (settled)
      logger.warn({ dispatchId: dispatch.dispatchId, reason: 'lease_passed' }, 'outcome unknown');
  }
  await eraseOldDispatches(db, { limit: eraseMax });
  await eraseOldIdempotency(db, { limit: eraseMax });
  await pruneConnectionFlows(db, { limit: eraseMax });
  await prunePendingConnections(db, { limit: eraseMax });
  await eraseOldFiles(db, { limit: eraseMax });
  await pruneSecretRequests(db, { limit: eraseMax });
  await pruneShareUse(db, { limit: eraseMax });
}
