import type { AuditRecord } from '#contracts/audit';
import type { AuditQuery } from '#contracts/http/audit';
import { cursorOf, parseCursor } from '#database';
import { AppError } from '#errors';
import type { Deps } from '../deps.ts';
import { readerOf } from '../domain/access.ts';
import { listRecords as listRows } from '../repository/records.ts';

interface ListFields {
  readonly principal: string;
  readonly page: { readonly limit: number; readonly cursor: string | null };
  readonly filter: Omit<AuditQuery, 'limit' | 'cursor'>;
}

/** Newest first. Admins and auditors read the org's records, other users those against themselves. */
export async function listRecords(
  { db, readPrincipal }: Deps,
  { principal, page, filter }: ListFields,
): Promise<{ items: AuditRecord[]; next_cursor: string | null }> {
  const { orgId, ofUserId } = readerOf(readPrincipal(principal));
  // No stored text holds a NUL, and Postgres refuses to look for one.
  if (Object.values(filter).some((value) => value?.includes('\0'))) {
    return { items: [], next_cursor: null };
  }
  const beforeSeq = page.cursor === null ? null : parseSeq(page.cursor);
  const rows = await listRows(
    db,
    { ...filter, orgId, ofUserId },
    { beforeSeq, limit: page.limit + 1 },
  );
  const items = rows.slice(0, page.limit);
  const last = rows.length > page.limit ? items.at(-1) : undefined;
  return { items, next_cursor: last === undefined ? null : cursorOf([last.seq]) };
}

function parseSeq(cursor: string): number {
  const seq = Number(parseCursor(cursor, 1)[0]);
  if (Number.isSafeInteger(seq)) return seq;
  throw new AppError(
    'invalid_request',
    'The cursor is not one we handed out; start again without a cursor.',
  );
}
