import type { Event } from '#contracts/events';
import type { Deps } from '../deps.ts';
import { chainAfter } from '../domain/chain.ts';
import type { UnchainedRecord } from '../domain/chain.ts';
import { recordOf } from '../domain/record.ts';
import { findHead, insertRecords, listRecordedIds, lockChain } from '../repository/records.ts';

/**
 * Appends the records of a batch of events, each to its org's chain and each once, however often
 * it is delivered. All or nothing: the events are acknowledged afterwards.
 */
export async function recordEvents({ db }: Deps, events: readonly Event[]): Promise<void> {
  const records = events.map(recordOf).filter((record) => record !== undefined);
  if (records.length === 0) return;
  const byOrg = Map.groupBy(records, (record) => record.org_id);
  // Always in the same order, so that two replicas never wait for each other's locks.
  const orgIds = [...byOrg.keys()].toSorted();

  await db.transaction(async (tx) => {
    for (const orgId of orgIds) {
      const ofOrg = once(byOrg.get(orgId) ?? []);
      await lockChain(tx, { orgId });
      const recorded = new Set(
        await listRecordedIds(tx, { orgId, ids: ofOrg.map((record) => record.id) }),
      );
      const fresh = ofOrg.filter((record) => !recorded.has(record.id));
      if (fresh.length === 0) continue;
      await insertRecords(tx, chainAfter(await findHead(tx, { orgId }), fresh));
    }
  });
}

/** A batch may hold the same event twice. */
function once(records: readonly UnchainedRecord[]): UnchainedRecord[] {
  return [...new Map(records.map((record) => [record.id, record])).values()];
}
