import type { AuditLookup } from '#contracts/http/audit';
import { AppError } from '#errors';
import type { Deps } from '../deps.ts';
import { readerOf } from '../domain/access.ts';
import { stateOf } from '../domain/state.ts';
import { listCallRecords } from '../repository/records.ts';

/** More than any call leaves. */
const recordsMax = 100;

/** Every record of one call, found by its call id or by the id of a record. */
export async function getRecord(
  { db, readPrincipal }: Deps,
  { principal, id }: { principal: string; id: string },
): Promise<AuditLookup> {
  const { orgId, ofUserId } = readerOf(readPrincipal(principal));
  const rows = await listCallRecords(db, { orgId, ofUserId, id, limit: recordsMax });
  const [first] = rows;
  if (first === undefined) {
    throw new AppError(
      'not_found',
      'There is no such record. A record can be read about a second after its call was answered.',
    );
  }
  return { call_id: first.call_id, state: stateOf(rows), rows };
}
