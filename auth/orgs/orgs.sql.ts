import type { OrgSettings } from '#contracts/bus/auth';
import type { Sql } from '#database';
import { AppError } from '#errors';
import type { Org, OrgProfile } from './domain/org.ts';

interface SettingsRow {
  approval_ttl_seconds: number;
  auto_bubble_seconds: number;
  remember_ttl_seconds: number;
  self_remember_max_seconds: number;
  durable_read_audit: boolean;
}

export async function insertOrg(sql: Sql, { id, name }: Org): Promise<void> {
  await sql`
    insert into auth.org (id, name)
    values (${id}, ${name})
  `;
}

export async function findOrg(sql: Sql, { orgId }: { orgId: string }): Promise<Org | undefined> {
  const [row] = await sql<{ id: string; name: string }[]>`
    select id, name
      from auth.org
     where id = ${orgId}
  `;
  return row && { id: row.id, name: row.name };
}

/**
 * Locks the org until the transaction ends, so that two admins cannot remove each other at once.
 */
export async function lockOrg(sql: Sql, { orgId }: { orgId: string }): Promise<void> {
  await sql`
    select id
      from auth.org
     where id = ${orgId}
       for no key update
  `;
}

export async function findOrgSettings(
  sql: Sql,
  { orgId }: { orgId: string },
): Promise<OrgSettings | undefined> {
  const [row] = await sql<(SettingsRow & { name: string })[]>`
    select approval_ttl_seconds, auto_bubble_seconds, remember_ttl_seconds,
           self_remember_max_seconds, durable_read_audit, name
      from auth.org
     where id = ${orgId}
  `;
  return row && { ...toSettings(row), orgName: row.name.slice(0, 200) };
}

function toSettings(row: SettingsRow): OrgSettings {
  return {
    approvalTtlSeconds: row.approval_ttl_seconds,
    autoBubbleSeconds: row.auto_bubble_seconds,
    rememberTtlSeconds: row.remember_ttl_seconds,
    selfRememberMaxSeconds: row.self_remember_max_seconds,
    durableReadAudit: row.durable_read_audit,
  };
}

export async function getOrgProfile(sql: Sql, { orgId }: { orgId: string }): Promise<OrgProfile> {
  const [row] = await sql<
    (SettingsRow & {
      id: string;
      name: string;
      created_at: Date;
      oauth_client_allow_list: string[] | null;
      session_idle_seconds: number;
    })[]
  >`
    select id, name, created_at, approval_ttl_seconds, auto_bubble_seconds, remember_ttl_seconds,
           self_remember_max_seconds, durable_read_audit, oauth_client_allow_list,
           session_idle_seconds
      from auth.org
     where id = ${orgId}
  `;
  if (row === undefined) throw new AppError('not_found', 'There is no such org.');
  return {
    id: row.id,
    name: row.name,
    createdAt: row.created_at,
    ...toSettings(row),
    oauthClientAllowList: row.oauth_client_allow_list,
    sessionIdleSeconds: row.session_idle_seconds,
  };
}

/** Sets the given columns. The other columns stay unchanged. */
export async function updateOrgSettings(
  sql: Sql,
  { orgId, changes }: { orgId: string; changes: Readonly<Record<string, unknown>> },
): Promise<void> {
  await sql`
    update auth.org
       set ${sql(changes)}
     where id = ${orgId}
  `;
}

/**
 * Finds an org by name. Without a name, finds the only org; finds nothing when there are several
 * orgs.
 */
export async function findOrgToSignIn(
  sql: Sql,
  { name }: { name: string | null },
): Promise<Org | undefined> {
  const [row, other] = await sql<Org[]>`
    select id, name
      from auth.org
     where ${name}::text is null or name = ${name}
     limit 2
  `;
  return other === undefined ? row : undefined;
}
