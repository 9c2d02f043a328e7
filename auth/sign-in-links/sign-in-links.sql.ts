import type { Sql } from '#database';

interface NewSignInLink {
  readonly id: string;
  readonly orgId: string;
  readonly identityId: string;
  readonly hash: Buffer;
  /** The lifetime; the default is a day. */
  readonly hours?: number;
}

export async function insertSignInLink(
  sql: Sql,
  { id, orgId, identityId, hash, hours = 24 }: NewSignInLink,
): Promise<{ expiresAt: Date }> {
  const [row] = await sql<{ expires_at: Date }[]>`
    insert into auth.sign_in_link (id, org_id, identity_id, hash, expires_at)
    values (${id}, ${orgId}, ${identityId}, ${hash}, now() + make_interval(hours => ${hours}))
    returning expires_at
  `;
  if (row === undefined) throw new Error('the inserted sign-in link was not returned');
  return { expiresAt: row.expires_at };
}

/** Ends all unused links of a user, because only the newest link may work. */
export async function invalidateSignInLinks(
  sql: Sql,
  { orgId, identityId }: { orgId: string; identityId: string },
): Promise<void> {
  await sql`
    update auth.sign_in_link
       set expires_at = now()
     where org_id = ${orgId}
       and identity_id = ${identityId}
       and consumed_at is null
       and expires_at > now()
  `;
}

/** Whether `consumeSignInLink` would find this link now. */
export async function isSignInLinkOpen(sql: Sql, { hash }: { hash: Buffer }): Promise<boolean> {
  const rows = await sql`
    select l.id
      from auth.sign_in_link l
      join auth.identity i on i.org_id = l.org_id and i.id = l.identity_id
     where l.hash = ${hash}
       and l.consumed_at is null
       and l.expires_at > now()
       and i.status = 'active'
  `;
  return rows.length === 1;
}

/**
 * Consumes a link; undefined when it does not exist, was used, or has expired. The update itself
 * checks the state, so exactly one of several parallel requests succeeds. The statement needs no
 * org id, because the hash belongs to exactly one link.
 */
export async function consumeSignInLink(
  sql: Sql,
  { hash }: { hash: Buffer },
): Promise<{ orgId: string; identityId: string } | undefined> {
  const [row] = await sql<{ org_id: string; identity_id: string }[]>`
    update auth.sign_in_link l
       set consumed_at = now()
      from auth.identity i
     where l.hash = ${hash}
       and l.consumed_at is null
       and l.expires_at > now()
       and i.org_id = l.org_id
       and i.id = l.identity_id
       and i.status = 'active'
    returning l.org_id, l.identity_id
  `;
  return row && { orgId: row.org_id, identityId: row.identity_id };
}

/** Deletes the links of every org that expired a month ago. */
export async function pruneSignInLinks(sql: Sql, limit: number): Promise<number> {
  const { count } = await sql`
    delete from auth.sign_in_link
     where id in (select id
                    from auth.sign_in_link
                   where expires_at < now() - interval '30 days'
                   limit ${limit})
  `;
  return count;
}
