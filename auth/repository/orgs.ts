import type { OrgSettings } from '#contracts/bus/auth';
import type { Sql } from '#database';

export interface Org {
  readonly id: string;
  readonly name: string;
}

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

/** Held while an org's admins change, so that two of them cannot remove each other. */
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
  const [row] = await sql<SettingsRow[]>`
    select approval_ttl_seconds, auto_bubble_seconds, remember_ttl_seconds,
           self_remember_max_seconds, durable_read_audit
      from auth.org
     where id = ${orgId}
  `;
  return (
    row && {
      approvalTtlSeconds: row.approval_ttl_seconds,
      autoBubbleSeconds: row.auto_bubble_seconds,
      rememberTtlSeconds: row.remember_ttl_seconds,
      selfRememberMaxSeconds: row.self_remember_max_seconds,
      durableReadAudit: row.durable_read_audit,
    }
  );
}
