import type { Sql } from '#database';
import { openSessionCondition, sessionLifetime } from './session-limits.sql.ts';
import type { OpenedBy } from './sessions.sql.ts';

/** A session as its user sees it. */
export interface OwnSession {
  readonly id: string;
  readonly openedBy: OpenedBy;
  readonly createdAt: Date;
  readonly lastUsedAt: Date;
  readonly expiresAt: Date;
  readonly ip: string | null;
  readonly userAgent: string | null;
}

interface UserKey {
  readonly orgId: string;
  readonly identityId: string;
}

/** Lists the user's open sessions, the newest first. */
export async function listOwnSessions(
  sql: Sql,
  { orgId, identityId, beforeId, limit }: UserKey & { beforeId: string | null; limit: number },
): Promise<OwnSession[]> {
  const beforeCondition = beforeId === null ? sql`` : sql`and s.id < ${beforeId}`;
  return sql<OwnSession[]>`
    select s.id, s.opened_by as "openedBy", s.created_at as "createdAt",
           s.last_used_at as "lastUsedAt", s.ip, s.user_agent as "userAgent",
           least(s.expires_at, s.created_at + ${sessionLifetime(sql)},
                 s.last_used_at + make_interval(secs => o.session_idle_seconds)) as "expiresAt"
      from auth.session s
      join auth.org o on o.id = s.org_id
     where s.org_id = ${orgId}
       and s.identity_id = ${identityId}
       and ${openSessionCondition(sql)} ${beforeCondition}
     order by s.id desc
     limit ${limit}
  `;
}

/** Ends one of the user's own sessions; false when the user has no such open session. */
export async function endOwnSession(
  sql: Sql,
  { orgId, identityId, id }: UserKey & { id: string },
): Promise<boolean> {
  const rows = await sql`
    update auth.session
       set ended_at = now()
     where org_id = ${orgId}
       and identity_id = ${identityId}
       and id = ${id}
       and ended_at is null
    returning id
  `;
  return rows.length === 1;
}

/** Ends all sessions of the user except `keepId`. Returns the ids of the ended sessions. */
export async function endSessionsExcept(
  sql: Sql,
  { orgId, identityId, keepId }: UserKey & { keepId: string },
): Promise<string[]> {
  const rows = await sql<{ id: string }[]>`
    update auth.session
       set ended_at = now()
     where org_id = ${orgId}
       and identity_id = ${identityId}
       and id <> ${keepId}
       and ended_at is null
    returning id
  `;
  return rows.map(({ id }) => id);
}

/**
 * Whether a one-time link opened this session within the last hour and no password was set in it
 * yet.
 */
export async function wasJustOpenedByLink(
  sql: Sql,
  { orgId, id }: { orgId: string; id: string },
): Promise<boolean> {
  const rows = await sql`
    select id
      from auth.session
     where org_id = ${orgId}
       and id = ${id}
       and opened_by = 'link'
       and created_at > now() - interval '1 hour'
  `;
  return rows.length === 1;
}

/**
 * Marks that a password was set in this session. A session that was opened by a one-time link may
 * set one password. So this returns false for a second attempt, and for sessions that were opened
 * in another way.
 */
export async function consumeLinkSession(
  sql: Sql,
  { orgId, id }: { orgId: string; id: string },
): Promise<boolean> {
  const rows = await sql`
    update auth.session
       set opened_by = 'password'
     where org_id = ${orgId}
       and id = ${id}
       and opened_by = 'link'
       and ended_at is null
    returning id
  `;
  return rows.length === 1;
}
