import type { Sql } from '#database';

export interface Upload {
  readonly id: string;
  readonly size: number;
  readonly expiresAt: Date;
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
    returning id, size, expires_at
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
    returning id, size, expires_at
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
    select id, size, expires_at
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

export async function pruneUploads(sql: Sql): Promise<void> {
  await sql`
    delete from registry.upload
     where expires_at < now()
  `;
}

function toUpload(row: UploadRow): Upload {
  return { id: row.id, size: row.size, expiresAt: row.expires_at };
}
