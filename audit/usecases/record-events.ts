import type { Event } from '#contracts/events';
import type { Database, Sql } from '#database';
import type { Deps } from '../deps.ts';
import { chainAfter } from '../domain/chain.ts';
import type { UnchainedRecord } from '../domain/chain.ts';
import { recordOf, refusalOfReusedId } from '../domain/record.ts';
import {
  findHead,
  insertRecords,
  isRecordedAlready,
  listHolders,
  lockChain,
} from '../repository/records.ts';

/** The org whose record has an id. */
type Holders = Map<string, string>;

/**
 * Appends the records of a batch of events, each to its org's chain and each once, however often
 * it is delivered. All or nothing: the events are acknowledged afterwards.
 *
 * Most events come once, so nothing is looked up before it is inserted; a batch with one that has
 * its record already is refused by the table, and done again without it.
 */
export async function recordEvents(
  deps: Pick<Deps, 'db' | 'logger'>,
  events: readonly Event[],
): Promise<void> {
  const records = events.map(recordOf).filter((record) => record !== undefined);
  if (records.length === 0) return;
  try {
    await append(deps, records, async () => new Map());
  } catch (error) {
    if (!isRecordedAlready(error)) throw error;
    await append(deps, records, findHolders);
  }
}

async function append(
  { db, logger }: { db: Database; logger: Deps['logger'] },
  records: readonly UnchainedRecord[],
  holdersOf: (tx: Sql, records: readonly UnchainedRecord[]) => Promise<Holders>,
): Promise<void> {
  // Always in the same order, so that two replicas never wait for each other's locks.
  const orgIds = [...new Set(records.map((record) => record.org_id))].toSorted();
  await db.transaction(async (tx) => {
    for (const orgId of orgIds) await lockChain(tx, { orgId });
    const { fresh, refused } = pickFresh(records, await holdersOf(tx, records));
    for (const [orgId, ofOrg] of Map.groupBy(fresh, (record) => record.org_id)) {
      await insertRecords(tx, chainAfter(await findHead(tx, { orgId }), ofOrg));
    }
    for (const { id, org_id: orgId, type } of refused) {
      logger.error({ eventId: id, orgId, type }, 'event refused: its id is that of another org');
    }
  });
}

async function findHolders(tx: Sql, records: readonly UnchainedRecord[]): Promise<Holders> {
  const refusals = records.map((record) => refusalOfReusedId(record).id);
  const held = await listHolders(tx, { ids: [...records.map(({ id }) => id), ...refusals] });
  return new Map(held.map(({ id, orgId }) => [id, orgId]));
}

/**
 * What has no record yet. Under one id the first event counts: every reader of an event knows its
 * id, and a stolen one could announce another event under it. In the same org that is taken for the
 * event delivered again; in another org it cannot be, and leaves a record of its refusal.
 */
function pickFresh(records: readonly UnchainedRecord[], holders: Holders) {
  const fresh: UnchainedRecord[] = [];
  const refused: UnchainedRecord[] = [];
  const take = (record: UnchainedRecord): boolean => {
    if (holders.has(record.id)) return false;
    holders.set(record.id, record.org_id);
    fresh.push(record);
    return true;
  };
  for (const record of records) {
    if (take(record) || holders.get(record.id) === record.org_id) continue;
    if (take(refusalOfReusedId(record))) refused.push(record);
  }
  return { fresh, refused };
}
