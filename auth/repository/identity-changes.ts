import type { Sql } from '#database';

// Every one of them is made with the tree locked (`lockTree`), and still checks what it changes.

interface OneIdentity {
  readonly orgId: string;
  readonly id: string;
}

export interface IdentityChange {
  readonly name?: string | undefined;
  readonly autoCallOnApprove?: boolean | undefined;
  readonly inheritPermissions?: boolean | undefined;
  /** Null: no end. */
  readonly expiresAt?: Date | null | undefined;
}

/** Whether an active sibling has the name. */
export async function isNameTaken(
  sql: Sql,
  { orgId, id, parentId, name }: OneIdentity & { parentId: string | null; name: string },
): Promise<boolean> {
  const rows = await sql`
    select
      from auth.identity
     where org_id = ${orgId}
       and parent_id is not distinct from ${parentId}
       and name = ${name}
       and status = 'active'
       and id <> ${id}
  `;
  return rows.length > 0;
}

/** False when it is revoked, or the new end is not in the future. */
export async function changeIdentity(
  sql: Sql,
  { orgId, id }: OneIdentity,
  { name, autoCallOnApprove, inheritPermissions, expiresAt }: IdentityChange,
): Promise<boolean> {
  const end = expiresAt ?? null;
  const rows = await sql`
    update auth.identity
       set name = coalesce(${name ?? null}, name),
           auto_call_on_approve = coalesce(${autoCallOnApprove ?? null}, auto_call_on_approve),
           inherit_permissions = coalesce(${inheritPermissions ?? null}, inherit_permissions),
           expires_at = case when ${expiresAt !== undefined}::boolean
                             then ${end}::timestamptz
                             else expires_at
                        end
     where org_id = ${orgId}
       and id = ${id}
       and status <> 'revoked'
       and (${end}::timestamptz is null or ${end}::timestamptz > now())
    returning id
  `;
  return rows.length === 1;
}

/** False when it is revoked, or archived already by somebody as high. */
export async function archiveIdentity(
  sql: Sql,
  { orgId, id, rank }: OneIdentity & { rank: number },
): Promise<boolean> {
  const rows = await sql`
    update auth.identity
       set status = 'archived', archived_rank = ${rank}
     where org_id = ${orgId}
       and id = ${id}
       and (status = 'active' or (status = 'archived' and archived_rank > ${rank}))
    returning id
  `;
  return rows.length === 1;
}

/** False when it is not archived. */
export async function restoreIdentity(sql: Sql, { orgId, id }: OneIdentity): Promise<boolean> {
  const rows = await sql`
    update auth.identity
       set status = 'active', archived_rank = null
     where org_id = ${orgId}
       and id = ${id}
       and status = 'archived'
    returning id
  `;
  return rows.length === 1;
}
