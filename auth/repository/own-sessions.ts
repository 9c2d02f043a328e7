import type { Sql } from '#database';
import type { OpenedBy } from './sessions.ts';

/** Sessions as their own user sees and ends them. */
export interface OwnSession {
  readonly id: string;
  readonly openedBy: OpenedBy;
  readonly createdAt: Date;
  readonly lastUsedAt: Date;
  readonly expiresAt: Date;
  readonly ip: string | null;
  readonly userAgent: string | null;
}

interface OneUser {
  readonly orgId: string;
  readonly identityId: string;
}

/** Those that could still be used, the newest first. */
export async function listOwnSessions(
  sql: Sql,
  { orgId, identityId, beforeId, limit }: OneUser & { beforeId: string | null; limit: number },
): Promise<OwnSession[]> {
  const before = beforeId === null ? sql`` : sql`and id < ${beforeId}`;
  return sql<OwnSession[]>`
    select id, opened_by as "openedBy", created_at as "createdAt", last_used_at as "lastUsedAt",
           least(expires_at, last_used_at + interval '12 hours') as "expiresAt", ip,
           user_agent as "userAgent"
      from auth.session
     where org_id = ${orgId}
       and identity_id = ${identityId}
       and ended_at is null
       and expires_at > now()
       and last_used_at > now() - interval '12 hours' ${before}
     order by id desc
     limit ${limit}
  `;
}

/** False when it is nobody's, somebody else's, or had ended. */
export async function endOwnSession(
  sql: Sql,
  { orgId, identityId, id }: OneUser & { id: string },
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

/** Ends all but `keepId`; the ids that ended. */
export async function endSessionsExcept(
  sql: Sql,
  { orgId, identityId, keepId }: OneUser & { keepId: string },
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

/** Whether a one-time link opened it within the last hour, and no password was set with it yet. */
export async function isFreshFromLink(
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

/** A link sets one password. False when this session was opened otherwise, or has set one. */
export async function useUpLinkSession(
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
