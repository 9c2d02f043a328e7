import type { Sql } from '#database';
import { dispatchKeptHours } from './dispatch.sql.ts';
import type { DispatchKey } from './dispatch.sql.ts';

/**
 * Lists, across orgs, dispatches that have no outcome although their lease ended at least
 * `silentSeconds` ago.
 */
export async function listAbandonedDispatches(
  sql: Sql,
  { silentSeconds, limit }: { silentSeconds: number; limit: number },
): Promise<DispatchKey[]> {
  const rows = await sql<{ org_id: string; dispatch_id: string }[]>`
    select org_id, dispatch_id
      from executor.dispatch
     where outcome is null
       and not may_repeat
       and lease_until < now() - ${silentSeconds} * interval '1 second'
     order by lease_until
     limit ${limit}
  `;
  return rows.map((row) => ({ orgId: row.org_id, dispatchId: row.dispatch_id }));
}

/**
 * Erases, across orgs, the outcomes of dispatches older than a day. An outcome contains the
 * upstream's answer.
 */
export async function eraseOldDispatches(sql: Sql, { limit }: { limit: number }): Promise<number> {
  const rows = await sql`
    delete from executor.dispatch
     where dispatch_id in (select dispatch_id
                             from executor.dispatch
                            where created_at < now() - ${dispatchKeptHours} * interval '1 hour'
                              and (outcome is not null or may_repeat)
                            limit ${limit})
    returning dispatch_id
  `;
  return rows.length;
}
