import { fileHours } from '#contracts/files';
import type { Sql } from '#database';

export interface NewFile {
  readonly id: string;
  readonly orgId: string;
  readonly audience: readonly string[];
  readonly chunksId: string;
  readonly name: string;
  readonly contentType: string;
  readonly size: number;
  readonly sha256: string;
}

export type FoundFile = Pick<NewFile, 'chunksId' | 'name' | 'contentType' | 'size'> & {
  readonly isExpired: boolean;
};

/** Makes a stored file available for download, and returns when it expires. */
export async function insertFile(sql: Sql, file: NewFile): Promise<{ expiresAt: Date }> {
  const [row] = await sql<{ expires_at: Date }[]>`
    insert into executor.file
           (id, org_id, audience, chunks_id, name, content_type, size, sha256, expires_at)
    values (${file.id}, ${file.orgId}, ${[...file.audience]}, ${file.chunksId}, ${file.name},
            ${file.contentType}, ${file.size}, ${file.sha256},
            now() + ${fileHours} * interval '1 hour')
    returning expires_at
  `;
  if (row === undefined) throw new Error('an insert returned nothing');
  return { expiresAt: row.expires_at };
}

/** A file that this identity may download: one of its own files or of its descendants' files. */
export async function findFile(
  sql: Sql,
  { orgId, id, identityId }: { orgId: string; id: string; identityId: string },
): Promise<FoundFile | undefined> {
  const [row] = await sql<
    {
      chunks_id: string;
      name: string;
      content_type: string;
      size: string;
      is_expired: boolean;
    }[]
  >`
    select chunks_id, name, content_type, size, expires_at <= now() as is_expired
      from executor.file
     where org_id = ${orgId}
       and id = ${id}
       and ${identityId} = any (audience)
  `;
  return (
    row && {
      chunksId: row.chunks_id,
      name: row.name,
      contentType: row.content_type,
      size: Number(row.size),
      isExpired: row.is_expired,
    }
  );
}

/**
 * Deletes, across orgs, files a day after they expired. Before the deletion a download gets the
 * error `expired`, afterwards `not_found`.
 */
export async function eraseOldFiles(sql: Sql, { limit }: { limit: number }): Promise<number> {
  const rows = await sql`
    delete from executor.file
     where id in (select id
                    from executor.file
                   where expires_at < now() - interval '1 day'
                   limit ${limit})
    returning id
  `;
  return rows.length;
}
