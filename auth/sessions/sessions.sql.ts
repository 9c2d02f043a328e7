import type { Sql } from '#database';
import { sessionLifetime } from './session-limits.sql.ts';

interface NewSession {
  readonly id: string;
  readonly orgId: string;
  readonly identityId: string;
  readonly hash: Buffer;
  readonly ip: string | null;
  readonly userAgent: string | null;
  /** The default is `link`, a one-time link. */
  readonly openedBy?: OpenedBy;
}

export type OpenedBy = 'link' | 'password' | 'provider';

/**
 * Inserts a session. Even if it is in use, it ends after the time that the org allows at present
 * (docs/reference/identities.md#lifetimes).
 */
export async function insertSession(sql: Sql, session: NewSession): Promise<{ expiresAt: Date }> {
  const { id, orgId, identityId, hash, ip, userAgent, openedBy = 'link' } = session;
  const [row] = await sql<{ expires_at: Date }[]>`
    insert into auth.session (id, org_id, identity_id, hash, expires_at, ip, user_agent, opened_by)
    select ${id}, o.id, ${identityId}, ${hash}, now() + ${sessionLifetime(sql)}, ${ip}, ${userAgent},
           ${openedBy}
      from auth.org o
     where o.id = ${orgId}
    returning expires_at
  `;
  if (row === undefined) throw new Error('the inserted session was not returned');
  return { expiresAt: row.expires_at };
}

/** Ends a session; false when the session had already ended. */
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

/** Deletes the sessions of every org that expired a month ago. */
export async function pruneSessions(sql: Sql, limit: number): Promise<number> {
  const { count } = await sql`
    delete from auth.session
     where id in (select id
                    from auth.session
                   where expires_at < now() - interval '30 days'
                   limit ${limit})
  `;
  return count;
}
