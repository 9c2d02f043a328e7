import type { AuditRecord } from '#contracts/audit';
import type { AuditQuery } from '#contracts/http/audit';
import { pageOf, parseSingleCursor, positions } from '#database';
import type { Page, PageRequest } from '#database';
import type { Deps } from '../deps.ts';
import { readerOf } from '../domain/access.ts';
import { listRecords as listRows } from '../repository/records.ts';

interface ListFields {
  readonly principal: string;
  readonly page: PageRequest;
  readonly filter: Omit<AuditQuery, 'limit' | 'cursor'>;
}

/** Newest first. Admins and auditors read the org's records, other users those against themselves. */
export async function listRecords(
  { db, readPrincipal }: Deps,
  { principal, page, filter }: ListFields,
): Promise<Page<AuditRecord>> {
  const { orgId, ofUserId } = readerOf(readPrincipal(principal));
  // No stored text holds a NUL, and Postgres refuses to look for one.
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
