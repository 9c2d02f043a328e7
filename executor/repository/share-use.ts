import type { Sql, Transaction } from '#database';
import type { CallerIds } from '#shares';

/** `files`: bytes in the object store, of all orgs together. `requests`: those to people, of each org by itself. */
export type SharedPool = 'files' | 'requests';

export interface ShareUse extends CallerIds {
  readonly id: string;
  readonly pool: SharedPool;
  readonly amount: number;
  readonly seconds: number;
}

const isOfOrg: Readonly<Record<SharedPool, boolean>> = { files: false, requests: true };

/**
 * What is held of the pool, then by the org, the user and the identity. Until the transaction ends nobody
 * else takes of the pool.
 */
export async function lockHeldShares(
  tx: Transaction,
  { pool, orgId, userId, identityId }: CallerIds & { readonly pool: SharedPool },
): Promise<number[]> {
  const lock = `share ${pool} ${isOfOrg[pool] ? orgId : ''}`;
  await tx`select pg_advisory_xact_lock(hashtextextended(${lock}, 0))`;
  const [row] = await tx<{ all: number; org: number; user: number; identity: number }[]>`
    select coalesce(sum(amount), 0)::float8 as all,
           coalesce(sum(amount) filter (where org_id = ${orgId}), 0)::float8 as org,
           coalesce(sum(amount) filter (where org_id = ${orgId} and user_id = ${userId}), 0)::float8
             as user,
           coalesce(sum(amount) filter (where org_id = ${orgId} and user_id = ${userId}
                                          and identity_id = ${identityId}), 0)::float8 as identity
      from executor.share_use
     where pool = ${pool}
       ${isOfOrg[pool] ? tx`and org_id = ${orgId}` : tx``}
       and expires_at > now()
  `;
  return row === undefined ? [0, 0, 0, 0] : [row.all, row.org, row.user, row.identity];
}

/** Adds to what is held under this id. */
export async function addShareUse(sql: Sql, use: ShareUse): Promise<void> {
  await sql`
    insert into executor.share_use (id, pool, org_id, user_id, identity_id, amount, expires_at)
    values (${use.id}, ${use.pool}, ${use.orgId}, ${use.userId}, ${use.identityId}, ${use.amount},
            now() + make_interval(secs => ${use.seconds}))
    on conflict (id) do update set amount = share_use.amount + excluded.amount,
                                   expires_at = excluded.expires_at
  `;
}

/** Sets what is held under this id; nothing when it is 0. */
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

/** Of every org: what has come back. */
export async function pruneShareUse(sql: Sql, { limit }: { limit: number }): Promise<void> {
  await sql`
    delete from executor.share_use
     where id in (select id from executor.share_use where expires_at <= now() limit ${limit})
  `;
}
