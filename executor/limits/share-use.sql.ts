import type { Sql, Transaction } from '#database';
import type { CallerIds } from '#shares';

/**
 * What callers share. The pool `files` counts bytes in the object store, with one pool for all
 * orgs; `requests` counts requests to people, with one pool per org.
 */
export type SharedPool = 'files' | 'requests';

export interface ShareUse extends CallerIds {
  readonly id: string;
  readonly pool: SharedPool;
  readonly amount: number;
  readonly seconds: number;
}

const isPoolPerOrg: Readonly<Record<SharedPool, boolean>> = { files: false, requests: true };

/**
 * Returns how much of the pool is used: in all, by the org, by the user and by the identity. Locks
 * the pool until the transaction ends.
 */
export async function lockHeldShares(
  tx: Transaction,
  { pool, orgId, userId, identityId }: CallerIds & { readonly pool: SharedPool },
): Promise<number[]> {
  const lockKey = `share ${pool} ${isPoolPerOrg[pool] ? orgId : ''}`;
  await tx`select pg_advisory_xact_lock(hashtextextended(${lockKey}, 0))`;
  const [row] = await tx<{ all: number; org: number; user: number; identity: number }[]>`
    select coalesce(sum(amount), 0)::float8 as all,
           coalesce(sum(amount) filter (where org_id = ${orgId}), 0)::float8 as org,
           coalesce(sum(amount) filter (where org_id = ${orgId} and user_id = ${userId}), 0)::float8
             as user,
           coalesce(sum(amount) filter (where org_id = ${orgId} and user_id = ${userId}
                                          and identity_id = ${identityId}), 0)::float8 as identity
      from executor.share_use
     where pool = ${pool}
       ${isPoolPerOrg[pool] ? tx`and org_id = ${orgId}` : tx``}
       and expires_at > now()
  `;
  return row === undefined ? [0, 0, 0, 0] : [row.all, row.org, row.user, row.identity];
}

/** Adds to the use counted under this id. */
export async function addShareUse(sql: Sql, shareUse: ShareUse): Promise<void> {
  await sql`
    insert into executor.share_use (id, pool, org_id, user_id, identity_id, amount, expires_at)
    values (${shareUse.id}, ${shareUse.pool}, ${shareUse.orgId}, ${shareUse.userId}, ${shareUse.identityId}, ${shareUse.amount},
            now() + make_interval(secs => ${shareUse.seconds}))
    on conflict (id) do update set amount = share_use.amount + excluded.amount,
                                   expires_at = excluded.expires_at
  `;
}

/** Sets the use counted under this id; 0 deletes it. */
export async function setShareUse(
  sql: Sql,
  { orgId, id, amount }: { orgId: string; id: string; amount: number },
): Promise<void> {
  if (amount === 0) {
    await sql`delete from executor.share_use where org_id = ${orgId} and id = ${id}`;
    return;
  }
  await sql`
    update executor.share_use set amount = ${amount} where org_id = ${orgId} and id = ${id}
  `;
}

/** Deletes, across orgs, uses that have expired. */
export async function pruneShareUse(sql: Sql, { limit }: { limit: number }): Promise<number> {
  const { count } = await sql`
    delete from executor.share_use
     where id in (select id from executor.share_use where expires_at <= now() limit ${limit})
  `;
  return count;
}
