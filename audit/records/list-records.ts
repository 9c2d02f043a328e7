import type { AuditRecord } from '#contracts/audit';
import type { AuditQuery } from '#contracts/http/audit';
import { pageOf, parseSingleCursor, positions } from '#database';
import type { Page, PageRequest } from '#database';
import type { Deps } from '../deps.ts';
import { readableRecordsOf } from './domain/access.ts';
import { listRecords as listRows } from './record.sql.ts';

interface ListRecordsFields {
  readonly principal: string;
  readonly page: PageRequest;
  readonly filter: Omit<AuditQuery, 'limit' | 'cursor'>;
}

/**
 * Lists records, newest first. Admins and auditors read the records of the org, other users only
 * their own.
 */
export async function listRecords(
  { db, readPrincipal }: Deps,
  { principal, page, filter }: ListRecordsFields,
): Promise<Page<AuditRecord>> {
  const { orgId, ofUserId } = readableRecordsOf(readPrincipal(principal));
  // Postgres rejects a query parameter that contains NUL, and no stored text contains one.
  if (Object.values(filter).some((value) => value?.includes('\0'))) {
    return { items: [], next_cursor: null };
  }
  const beforeSeq = parseSingleCursor(page.cursor, positions.number);
  const rows = await listRows(
    db,
    { ...filter, orgId, ofUserId },
    { beforeSeq, limit: page.limit + 1 },
  );
  return pageOf(rows, page.limit, ({ seq }) => [seq]);
}
