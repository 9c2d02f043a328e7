import type { Sql } from '#database';

/**
 * The statements in this file are for the first start. They name no org, because there may be none
 * yet.
 */

/**
 * Locks until the transaction ends, so that only one of several starting replicas creates the
 * admin.
 */
export async function lockBootstrap(sql: Sql): Promise<void> {
  await sql`
    select pg_advisory_xact_lock(hashtext('auth bootstrap'))
  `;
}

export async function hasUsers(sql: Sql): Promise<boolean> {
  const [row] = await sql<[{ has_users: boolean }]>`
    select count(*) > 0 as has_users
      from auth.identity
     where kind = 'user'
  `;
  return row.has_users;
}

export async function findFirstAdmin(sql: Sql): Promise<{ orgId: string; id: string } | undefined> {
  const [row] = await sql<{ org_id: string; id: string }[]>`
    select org_id, id
      from auth.identity
     where role = 'admin'
       and status = 'active'
     order by id
     limit 1
  `;
  return row && { orgId: row.org_id, id: row.id };
}

/** Whether any admin can sign in with a password or through a provider. */
export async function canAdminSignIn(sql: Sql): Promise<boolean> {
  const [row] = await sql<[{ can: boolean }]>`
    select exists (select 1
                     from auth.identity i
                    where i.role = 'admin'
                      and i.status = 'active'
                      and (exists (select 1
                                     from auth.local_account a
                                    where a.org_id = i.org_id
                                      and a.identity_id = i.id
                                      and a.password_hash is not null)
                           or exists (select 1
                                        from auth.provider_subject p
                                       where p.org_id = i.org_id
                                         and p.identity_id = i.id))) as can
  `;
  return row.can;
}
