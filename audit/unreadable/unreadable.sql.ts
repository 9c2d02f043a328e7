import type { Sql } from '#database';
import type { UnreadableEvent } from '#contracts/events';

export interface UnreadableRow {
  readonly id: string;
  readonly receivedAt: Date;
  readonly subject: string;
  readonly body: Uint8Array;
}

export async function insertUnreadable(sql: Sql, event: UnreadableEvent): Promise<void> {
  const { id, orgId, subject, body } = event;
  await sql`
    insert into audit.unreadable (id, org_id, subject, body)
    values (${id}, ${orgId}, ${subject}, ${Buffer.from(body)})
        on conflict (id) do nothing
  `;
}

/** Lists rows that no release has recorded yet, oldest first, after the row `after`. */
export async function listUnrecorded(
  sql: Sql,
  { after, limit }: { after: Pick<UnreadableRow, 'receivedAt' | 'id'> | null; limit: number },
): Promise<UnreadableRow[]> {
  return sql<UnreadableRow[]>`
    select id, received_at as "receivedAt", subject, body
      from audit.unreadable
     where not exists (select
                         from audit.unreadable_recorded
                        where unreadable_id = audit.unreadable.id)
       ${after === null ? sql`` : sql`and (received_at, id) > (${after.receivedAt}, ${after.id})`}
     order by received_at, id
     limit ${limit}
  `;
}

export async function markRecorded(sql: Sql, { id }: { id: string }): Promise<void> {
  await sql`
    insert into audit.unreadable_recorded (unreadable_id)
    values (${id})
        on conflict do nothing
  `;
}

/** Counts the rows that no release has recorded yet, up to `max`. */
export async function countUnrecorded(sql: Sql, { max }: { max: number }): Promise<number> {
  const [row] = await sql<[{ count: number }]>`
    select count(*)::integer as count
      from (select
              from audit.unreadable
             where not exists (select
                                 from audit.unreadable_recorded
                                where unreadable_id = audit.unreadable.id)
             limit ${max}) as unrecorded
  `;
  return row.count;
}
