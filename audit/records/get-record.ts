import type { AuditLookup } from '#contracts/http/audit';
import { AppError } from '#errors';
import type { Deps } from '../deps.ts';
import { readableRecordsOf } from './domain/access.ts';
import { callStateOf } from './domain/call-state.ts';
import { listCallRecords } from './record.sql.ts';

/** No call has this many records. */
const recordsMax = 100;

/** Returns every record of one call. `id` is the call id or the id of one of the records. */
export async function getRecord(
  { db, readPrincipal }: Deps,
  { principal, id }: { principal: string; id: string },
): Promise<AuditLookup> {
  const { orgId, ofUserId } = readableRecordsOf(readPrincipal(principal));
  const rows = await listCallRecords(db, { orgId, ofUserId, id, limit: recordsMax });
  const [first] = rows;
  if (first === undefined) {
    throw new AppError(
      'not_found',
      'There is no such record. A record can be read about a second after its call was answered.',
    );
  }
  return { call_id: first.call_id, state: callStateOf(rows), rows };
}
