import type { Sql } from '#database';

interface UserKey {
  readonly orgId: string;
  readonly id: string;
}

/** Sets or removes a display name; false when there is no such unrevoked user. */
export async function setDisplayName(
  sql: Sql,
  { orgId, id, displayName }: UserKey & { displayName: string | null },
): Promise<boolean> {
  const rows = await sql`
    update auth.identity
       set display_name = ${displayName}
     where org_id = ${orgId}
       and id = ${id}
       and kind = 'user'
       and status <> 'revoked'
    returning id
  `;
  return rows.length === 1;
}

/**
 * Lists the display names of the users to whom the given identities belong. Users without a display
 * name are left out.
 */
export async function listDisplayNames(
  sql: Sql,
  { orgId, ids }: { orgId: string; ids: readonly string[] },
): Promise<{ id: string; displayName: string }[]> {
  return sql<{ id: string; displayName: string }[]>`
    select i.id, u.display_name as "displayName"
      from auth.identity i
      join auth.identity u on u.org_id = i.org_id and u.id = i.owner_id
     where i.org_id = ${orgId}
       and i.id = any(${ids}::uuid[])
       and u.display_name is not null
  `;
}
