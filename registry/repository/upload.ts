import type { ImportProgress } from '#contracts/http/template-import';
import type { Sql } from '#database';

export interface Upload {
  readonly id: string;
  readonly size: number;
  readonly expiresAt: Date;
  readonly progress: ImportProgress | null;
}

interface Owned {
  readonly orgId: string;
  readonly ownerId: string;
}

interface Part {
  readonly partId: string;
  readonly text: string;
}

interface UploadRow {
  id: string;
  size: number;
  expires_at: Date;
  progress: ImportProgress | null;
}

/** Undefined when the owner has as many under way as are allowed. */
export async function insertUpload(
  sql: Sql,
  { id, orgId, ownerId, partId, text, most }: Owned & Part & { id: string; most: number },
): Promise<Upload | undefined> {
  await sql`select pg_advisory_xact_lock(hashtext(${`uploads ${orgId} ${ownerId}`}))`;
  const [row] = await sql<UploadRow[]>`
    insert into registry.upload (id, org_id, owner_id, size, expires_at)
    select ${id}, ${orgId}, ${ownerId}, ${Buffer.byteLength(text)}, now() + interval '1 hour'
     where (
       select count(*)
         from registry.upload
        where org_id = ${orgId}
          and owner_id = ${ownerId}
          and expires_at > now()
     ) < ${most}
    returning id, size, expires_at, import_progress as progress
  `;
  if (row === undefined) return undefined;
  await insertPart(sql, { partId, orgId, id, position: 0, text });
  return toUpload(row);
}

/** Undefined when it is gone, or `offset` is not its size. */
export async function growUpload(
  sql: Sql,
  { id, orgId, ownerId, partId, text, offset }: Owned & Part & { id: string; offset: number },
): Promise<Upload | undefined> {
  const [row] = await sql<UploadRow[]>`
    update registry.upload
       set size = size + ${Buffer.byteLength(text)}
     where id = ${id}
       and org_id = ${orgId}
       and owner_id = ${ownerId}
       and size = ${offset}
       and expires_at > now()
    returning id, size, expires_at,
              case when import_seen_at > now() - interval '15 seconds' then import_progress end
                as progress
  `;
  if (row === undefined) return undefined;
  await insertPart(sql, { partId, orgId, id, position: offset, text });
  return toUpload(row);
}

async function insertPart(
  sql: Sql,
  { partId, orgId, id, position, text }: Part & { orgId: string; id: string; position: number },
): Promise<void> {
  await sql`
    insert into registry.upload_part (id, upload_id, org_id, position, text)
    values (${partId}, ${id}, ${orgId}, ${position}, ${text})
  `;
}

export async function findUpload(
  sql: Sql,
  { id, orgId, ownerId }: Owned & { id: string },
): Promise<Upload | undefined> {
  const [row] = await sql<UploadRow[]>`
    select id, size, expires_at,
           case when import_seen_at > now() - interval '15 seconds' then import_progress end
             as progress
      from registry.upload
     where id = ${id}
       and org_id = ${orgId}
       and owner_id = ${ownerId}
       and expires_at > now()
  `;
  return row && toUpload(row);
}

/** The parts in their order. */
export async function readUpload(
  sql: Sql,
  { id, orgId }: { id: string; orgId: string },
): Promise<string[]> {
  const rows = await sql<{ text: string }[]>`
    select text
      from registry.upload_part
     where upload_id = ${id}
       and org_id = ${orgId}
     order by position
  `;
  return rows.map(({ text }) => text);
}

interface Run {
  readonly id: string;
  readonly orgId: string;
  /** Of this import: an upload may be imported several times, even at once. */
  readonly importId: string;
}

/** From now on the progress of the upload is this import's. No upload, nothing happens. */
export async function beginImport(
  sql: Sql,
  { id, orgId, ownerId, importId, progress }: Owned & Run & { progress: ImportProgress },
): Promise<void> {
  await sql`
    update registry.upload
       set import_id = ${importId},
           import_progress = ${sql.json({ ...progress })},
           import_seen_at = now()
     where id = ${id}
       and org_id = ${orgId}
       and owner_id = ${ownerId}
       and expires_at > now()
  `;
}

/** Also says that the import is alive. Nothing happens when it has ended, or another began since. */
export async function saveProgress(
  sql: Sql,
  { id, orgId, importId, progress }: Run & { progress: ImportProgress },
): Promise<void> {
  await sql`
    update registry.upload
       set import_progress = ${sql.json({ ...progress })},
           import_seen_at = now()
     where id = ${id}
       and org_id = ${orgId}
       and import_id = ${importId}
  `;
}

export async function endImport(sql: Sql, { id, orgId, importId }: Run): Promise<void> {
  await sql`
    update registry.upload
       set import_id = null,
           import_progress = null,
           import_seen_at = null
     where id = ${id}
       and org_id = ${orgId}
       and import_id = ${importId}
  `;
}

export async function pruneUploads(sql: Sql): Promise<void> {
  await sql`
    delete from registry.upload
     where expires_at < now()
  `;
}

function toUpload(row: UploadRow): Upload {
  return { id: row.id, size: row.size, expiresAt: row.expires_at, progress: row.progress };
}
