import type { Sql } from '#database';

// Before each statement in this file, the caller must have locked the user's tree (`lockTree`).

interface IdentityKey {
  readonly orgId: string;
  readonly id: string;
}

export interface IdentityChange {
  readonly name?: string | undefined;
  readonly autoCallOnApprove?: boolean | undefined;
  readonly inheritPermissions?: boolean | undefined;
  /** Null removes the expiry. */
  readonly expiresAt?: Date | null | undefined;
}

/** Whether another active identity with the same parent has this name. */
export async function isNameTaken(
  sql: Sql,
  { orgId, id, parentId, name }: IdentityKey & { parentId: string | null; name: string },
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

/**
 * Changes the given fields; false when the identity is revoked, or when its new expiry is not in
 * the future.
 */
export async function changeIdentity(
  sql: Sql,
  { orgId, id }: IdentityKey,
  { name, autoCallOnApprove, inheritPermissions, expiresAt }: IdentityChange,
): Promise<boolean> {
  const newExpiry = expiresAt ?? null;
  const rows = await sql`
    update auth.identity
       set name = coalesce(${name ?? null}, name),
           auto_call_on_approve = coalesce(${autoCallOnApprove ?? null}, auto_call_on_approve),
           inherit_permissions = coalesce(${inheritPermissions ?? null}, inherit_permissions),
           expires_at = case when ${expiresAt !== undefined}::boolean
                             then ${newExpiry}::timestamptz
                             else expires_at
                        end
     where org_id = ${orgId}
       and id = ${id}
       and status <> 'revoked'
       and (${newExpiry}::timestamptz is null or ${newExpiry}::timestamptz > now())
    returning id
  `;
  return rows.length === 1;
}

/**
 * Archives an identity. False when it is revoked, or when a caller with the same or a higher rank
 * archived it before.
 */
export async function archiveIdentity(
  sql: Sql,
  { orgId, id, rank }: IdentityKey & { rank: number },
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

/** Restores an identity; false when it is not archived. */
export async function restoreIdentity(sql: Sql, { orgId, id }: IdentityKey): Promise<boolean> {
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
