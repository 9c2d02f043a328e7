import type { Role } from '#contracts/vocabulary';
import type { Sql } from '#database';

interface UserKey {
  readonly orgId: string;
  readonly id: string;
}

/** Inserts a user; false when another user of the org has the name. */
export async function insertNamedUser(
  sql: Sql,
  user: UserKey & {
    name: string;
    role: Role;
    email: string | null;
    createdBy: string | null;
  },
): Promise<boolean> {
  const { id, orgId, name, role, email, createdBy } = user;
  const rows = await sql`
    insert into auth.identity (id, org_id, kind, name, owner_id, depth, lineage, role, email,
                               created_by)
    values (${id}, ${orgId}, 'user', ${name}, ${id}, 0, array[${id}::uuid], ${role}, ${email},
            ${createdBy})
        on conflict (org_id, parent_id, name) where kind = 'user' and status <> 'revoked' do nothing
    returning id
  `;
  return rows.length === 1;
}

/** Changes a role. False when the user is revoked, or already has the role. */
export async function changeRole(
  sql: Sql,
  { orgId, id, role }: UserKey & { role: Role },
): Promise<boolean> {
  const rows = await sql`
    update auth.identity
       set role = ${role}
     where org_id = ${orgId}
       and id = ${id}
       and kind = 'user'
       and status <> 'revoked'
       and role <> ${role}
    returning id
  `;
  return rows.length === 1;
}

export async function setUserEmail(
  sql: Sql,
  { orgId, id, email }: UserKey & { email: string },
): Promise<void> {
  await sql`
    update auth.identity
       set email = ${email}
     where org_id = ${orgId}
       and id = ${id}
       and kind = 'user'
  `;
}

/** Whether an invited user has not signed in yet. */
export async function hasNeverSignedIn(sql: Sql, { orgId, id }: UserKey): Promise<boolean> {
  const rows = await sql`
    select id
      from auth.identity
     where org_id = ${orgId}
       and id = ${id}
       and last_sign_in_at is null
  `;
  return rows.length === 1;
}
