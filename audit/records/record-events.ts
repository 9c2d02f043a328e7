import type { Database, Sql } from '#database';
import type { ReceivedEvent } from '#contracts/events';
import type { Deps } from '../deps.ts';
import { appendToChain } from './domain/chain.ts';
import type { UnchainedRecord } from './domain/chain.ts';
import { auditRecordOf, refusalRecordOfReusedId } from './domain/record-of-event.ts';
import {
  findChainHead,
  insertRecords,
  isAlreadyRecordedError,
  listOrgsOfRecords,
  lockChain,
} from './record.sql.ts';

/** Maps the id of a record to the id of its org. */
type OrgIdByRecordId = Map<string, string>;

/**
 * Appends the records of a batch of events to the chains of their orgs, all of them or none. An
 * event that is delivered again gets no second record. The caller acknowledges the events
 * afterwards.
 *
 * Few events are delivered twice, so nothing is looked up before the insert. If the batch contains
 * an event that already has its record, a unique constraint rejects the insert, and the batch is
 * repeated without that event.
 */
export async function recordEvents(
  deps: Pick<Deps, 'db' | 'logger'>,
  events: readonly ReceivedEvent[],
): Promise<void> {
  await appendRecords(
    deps,
    events.map(auditRecordOf).filter((record) => record !== undefined),
  );
}

/** Appends records to the chains of their orgs. A record whose id is recorded already is left out. */
export async function appendRecords(
  deps: Pick<Deps, 'db' | 'logger'>,
  records: readonly UnchainedRecord[],
): Promise<void> {
  if (records.length === 0) return;
  try {
    await appendToChains(deps, records, async () => new Map());
  } catch (error) {
    if (!isAlreadyRecordedError(error)) throw error;
    await appendToChains(deps, records, findOrgIds);
  }
}

async function appendToChains(
  { db, logger }: { db: Database; logger: Deps['logger'] },
  records: readonly UnchainedRecord[],
  findRecorded: (tx: Sql, records: readonly UnchainedRecord[]) => Promise<OrgIdByRecordId>,
): Promise<void> {
  // Locks are taken in one order, so that two replicas cannot deadlock.
  const orgIds = [...new Set(records.map((record) => record.org_id))].toSorted();
  await db.transaction(async (tx) => {
    for (const orgId of orgIds) await lockChain(tx, { orgId });
    const { added, refused } = selectNewRecords(records, await findRecorded(tx, records));
    for (const [orgId, ofOrg] of Map.groupBy(added, (record) => record.org_id)) {
      await insertRecords(tx, appendToChain(await findChainHead(tx, { orgId }), ofOrg));
    }
    for (const { id, org_id: orgId, type } of refused) {
      logger.error({ eventId: id, orgId, type }, 'event refused: its id is that of another org');
    }
  });
}

async function findOrgIds(tx: Sql, records: readonly UnchainedRecord[]): Promise<OrgIdByRecordId> {
  const refusals = records.map((record) => refusalRecordOfReusedId(record).id);
  const existingRecords = await listOrgsOfRecords(tx, {
    ids: [...records.map(({ id }) => id), ...refusals],
  });
  return new Map(existingRecords.map(({ id, orgId }) => [id, orgId]));
}

/**
 * Separates new records from those whose id already has a record. Every consumer of an event knows
 * the event's id and could publish another event under it, so the first event with an id counts. A
 * second event of the same org is treated as a repeated delivery. A second event of another org is
 * refused, and the refusal is recorded.
 */
function selectNewRecords(records: readonly UnchainedRecord[], orgIdByRecordId: OrgIdByRecordId) {
  const recordsToAdd: UnchainedRecord[] = [];
  const refusedRecords: UnchainedRecord[] = [];
  const addIfIdIsNew = (record: UnchainedRecord): boolean => {
    if (orgIdByRecordId.has(record.id)) return false;
    orgIdByRecordId.set(record.id, record.org_id);
    recordsToAdd.push(record);
    return true;
  };
  for (const record of records) {
    if (addIfIdIsNew(record) || orgIdByRecordId.get(record.id) === record.org_id) continue;
    if (addIfIdIsNew(refusalRecordOfReusedId(record))) refusedRecords.push(record);
  }
  return { added: recordsToAdd, refused: refusedRecords };
}
