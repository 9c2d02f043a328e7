import type { ImportProgress } from '#contracts/http/template-import';
import type { Sql } from '#database';

export interface Upload {
  readonly id: string;
  readonly size: number;
  readonly expiresAt: Date;
  readonly progress: ImportProgress | null;
}

interface OwnedUpload {
  readonly orgId: string;
  readonly ownerId: string;
}

interface UploadPart {
  readonly partId: string;
  readonly text: string;
}

interface UploadRow {
  id: string;
  size: number;
  expires_at: Date;
  progress: ImportProgress | null;
}

/**
 * Inserts an upload with its first part; undefined when the owner already has the maximum number of
 * uploads.
 */
export async function insertUpload(
  sql: Sql,
  {
    id,
    orgId,
    ownerId,
    partId,
    text,
    most,
  }: OwnedUpload & UploadPart & { id: string; most: number },
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

/** Appends a part; undefined when the upload no longer exists, or `offset` is not its size. */
export async function appendToUpload(
  sql: Sql,
  {
    id,
    orgId,
    ownerId,
    partId,
    text,
    offset,
  }: OwnedUpload & UploadPart & { id: string; offset: number },
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
  {
    partId,
    orgId,
    id,
    position,
    text,
  }: UploadPart & { orgId: string; id: string; position: number },
): Promise<void> {
  await sql`
    insert into registry.upload_part (id, upload_id, org_id, position, text)
    values (${partId}, ${id}, ${orgId}, ${position}, ${text})
  `;
}

export async function findUpload(
  sql: Sql,
  { id, orgId, ownerId }: OwnedUpload & { id: string },
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

/** Reads the parts of an upload in order. */
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

interface ImportRun {
  readonly id: string;
  readonly orgId: string;
  /** The id of one import. The same upload may be imported several times, even at the same time. */
  readonly importId: string;
}

/**
 * Records that the upload now shows the progress of this import. Does nothing when the upload no
 * longer exists.
 */
export async function beginImport(
  sql: Sql,
  {
    id,
    orgId,
    ownerId,
    importId,
    progress,
  }: OwnedUpload & ImportRun & { progress: ImportProgress },
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

/**
 * Stores the progress, which also marks the import as alive. Does nothing when the import has
 * ended, or a newer import of the upload has started.
 */
export async function saveProgress(
  sql: Sql,
  { id, orgId, importId, progress }: ImportRun & { progress: ImportProgress },
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

export async function endImport(sql: Sql, { id, orgId, importId }: ImportRun): Promise<void> {
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
