import type { Event } from '#contracts/events';
import type { Database, Sql } from '#database';
import type { Deps } from '../deps.ts';
import { chainAfter } from '../domain/chain.ts';
import type { UnchainedRecord } from '../domain/chain.ts';
import { recordOf } from '../domain/record.ts';
import {
  findHead,
  insertRecords,
  isRecordedAlready,
  listRecordedIds,
  lockChain,
} from '../repository/records.ts';

/**
 * Appends the records of a batch of events, each to its org's chain and each once, however often
 * it is delivered. All or nothing: the events are acknowledged afterwards.
 *
 * Most events come once, so nothing is looked up before it is inserted; a batch with one that has
 * its record already is refused by the table, and done again without it.
 */
export async function recordEvents({ db }: Deps, events: readonly Event[]): Promise<void> {
  const records = events.map(recordOf).filter((record) => record !== undefined);
  if (records.length === 0) return;
  const byOrg = Map.groupBy(records, (record) => record.org_id);
  try {
    await append(db, byOrg, async (_tx, { ofOrg }) => ofOrg);
  } catch (error) {
    if (!isRecordedAlready(error)) throw error;
    await append(db, byOrg, withoutRecorded);
  }
}

type PickFresh = (
  tx: Sql,
  batch: { orgId: string; ofOrg: readonly UnchainedRecord[] },
) => Promise<readonly UnchainedRecord[]>;

async function append(
  db: Database,
  byOrg: ReadonlyMap<string, readonly UnchainedRecord[]>,
  pickFresh: PickFresh,
): Promise<void> {
  // Always in the same order, so that two replicas never wait for each other's locks.
  const orgIds = [...byOrg.keys()].toSorted();
  await db.transaction(async (tx) => {
    for (const orgId of orgIds) {
      await lockChain(tx, { orgId });
      const fresh = await pickFresh(tx, { orgId, ofOrg: once(byOrg.get(orgId) ?? []) });
      if (fresh.length === 0) continue;
      await insertRecords(tx, chainAfter(await findHead(tx, { orgId }), fresh));
    }
  });
}

const withoutRecorded: PickFresh = async (tx, { orgId, ofOrg }) => {
  const recorded = new Set(
    await listRecordedIds(tx, { orgId, ids: ofOrg.map((record) => record.id) }),
  );
  return ofOrg.filter((record) => !recorded.has(record.id));
};

/**
 * A batch may hold the same event id twice. The first counts: every reader of an event knows its id,
 * and a stolen one could announce another event under it.
 */
function once(records: readonly UnchainedRecord[]): UnchainedRecord[] {
  const seen = new Set<string>();
  return records.filter(({ id }) => !seen.has(id) && seen.add(id));
}
