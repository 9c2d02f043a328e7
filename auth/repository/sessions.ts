import type { Sql } from '#database';

interface NewSession {
  readonly id: string;
  readonly orgId: string;
  readonly identityId: string;
  readonly hash: Buffer;
  readonly ip: string | null;
  readonly userAgent: string | null;
  /** By default by a one-time link. */
  readonly openedBy?: OpenedBy;
}

export type OpenedBy = 'link' | 'password' | 'provider';

/** A session lives seven days at most, however much it is used (docs/reference/identities.md#lifetimes). */
export async function insertSession(sql: Sql, session: NewSession): Promise<{ expiresAt: Date }> {
  const { id, orgId, identityId, hash, ip, userAgent, openedBy = 'link' } = session;
  const [row] = await sql<{ expires_at: Date }[]>`
    insert into auth.session (id, org_id, identity_id, hash, expires_at, ip, user_agent, opened_by)
    values (${id}, ${orgId}, ${identityId}, ${hash}, now() + interval '7 days', ${ip}, ${userAgent},
            ${openedBy})
    returning expires_at
  `;
  if (row === undefined) throw new Error('the inserted session was not returned');
  return { expiresAt: row.expires_at };
}

/** False when it had ended before. */
export async function endSession(
  sql: Sql,
  { orgId, id }: { orgId: string; id: string },
): Promise<boolean> {
  const rows = await sql`
    update auth.session
       set ended_at = now()
     where org_id = ${orgId}
       and id = ${id}
       and ended_at is null
    returning id
  `;
  return rows.length === 1;
}

export async function endSessionsOf(
  sql: Sql,
  { orgId, identityIds }: { orgId: string; identityIds: readonly string[] },
): Promise<void> {
  await sql`
    update auth.session
       set ended_at = now()
     where org_id = ${orgId}
       and identity_id = any(${identityIds}::uuid[])
       and ended_at is null
  `;
}

/** Sessions that nobody can use any more are kept for a month. Across orgs: it is housekeeping. */
export async function pruneSessions(sql: Sql): Promise<void> {
  await sql`
    delete from auth.session
     where id in (select id
                    from auth.session
                   where expires_at < now() - interval '30 days'
                   limit 10000)
  `;
}
