import type { Sql } from '#database';

interface NewSignInLink {
  readonly id: string;
  readonly orgId: string;
  readonly identityId: string;
  readonly hash: Buffer;
  /** By default a day. */
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

/** Ends the links that are still open: the newest is the only one that works. */
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

/**
 * Uses a link up, and undefined if it cannot be used (any more). The state is checked in the
 * update itself: of any number at once exactly one succeeds. No org: the link tells it.
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

/** Across orgs: it is housekeeping. */
export async function pruneSignInLinks(sql: Sql): Promise<void> {
  await sql`
    delete from auth.sign_in_link
     where id in (select id
                    from auth.sign_in_link
                   where expires_at < now() - interval '30 days'
                   limit 10000)
  `;
}
