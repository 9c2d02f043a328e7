import type { IdentityKind, Role } from '#contracts/vocabulary';
import type { Sql } from '#database';
import { AppError } from '#errors';
import type { Identity, IdentityStatus, LiveLink } from './domain/identity.ts';

interface IdentityRow {
  id: string;
  org_id: string;
  kind: IdentityKind;
  name: string;
  parent_id: string | null;
  owner_id: string;
  depth: number;
  lineage: string[];
  path: string[];
  display_name: string | null;
  inherit_permissions: boolean;
  auto_call_on_approve: boolean;
  status: IdentityStatus;
  archived_rank: number | null;
  role: Role | null;
  email: string | null;
  created_by: string | null;
  created_at: Date;
  expires_at: Date | null;
  last_active_at: Date | null;
}

interface IdentityKey {
  readonly orgId: string;
  readonly id: string;
}

/**
 * Every query reads the names in `path` from the ancestors, because an ancestor may have been
 * renamed.
 */
const identityColumns = (sql: Sql) => sql`
  i.id, i.org_id, i.kind, i.name, i.parent_id, i.owner_id, i.depth, i.lineage,
  i.inherit_permissions, i.auto_call_on_approve, i.status, i.archived_rank, i.role, i.email,
  i.created_by, i.created_at, i.expires_at, i.last_active_at,
  (select array_agg(a.name order by a.depth)
     from auth.identity a
    where a.org_id = i.org_id
      and a.id = any(i.lineage)) as path,
  (select u.display_name
     from auth.identity u
    where u.org_id = i.org_id
      and u.id = i.owner_id) as display_name
`;

export async function findIdentity(
  sql: Sql,
  { orgId, id }: IdentityKey,
): Promise<Identity | undefined> {
  const [row] = await sql<IdentityRow[]>`
    select ${identityColumns(sql)}
      from auth.identity i
     where i.org_id = ${orgId}
       and i.id = ${id}
  `;
  return row && toIdentity(row);
}

export async function getIdentity(sql: Sql, key: IdentityKey): Promise<Identity> {
  const identity = await findIdentity(sql, key);
  if (identity === undefined) throw new AppError('not_found', 'There is no such identity.');
  return identity;
}

/**
 * Lists identities in order of creation, after `afterId`. `withinId`, if given, limits the list to
 * that identity and its descendants; `kind` limits it to one kind.
 */
export async function listIdentities(
  sql: Sql,
  {
    orgId,
    withinId,
    kind,
    afterId,
    limit,
  }: {
    orgId: string;
    withinId: string | null;
    kind?: IdentityKind;
    afterId: string | null;
    limit: number;
  },
): Promise<Identity[]> {
  const subtreeCondition =
    withinId === null ? sql`` : sql`and i.lineage @> array[${withinId}::uuid]`;
  const afterCondition = afterId === null ? sql`` : sql`and i.id > ${afterId}`;
  const kindCondition = kind === undefined ? sql`` : sql`and i.kind = ${kind}`;
  const rows = await sql<IdentityRow[]>`
    select ${identityColumns(sql)}
      from auth.identity i
     where i.org_id = ${orgId} ${subtreeCondition} ${kindCondition} ${afterCondition}
     order by i.id
     limit ${limit}
  `;
  return rows.map(toIdentity);
}

/** Lists the identities from the user down to `id`; empty when `id` does not exist. */
export async function listChain(sql: Sql, { orgId, id }: IdentityKey): Promise<LiveLink[]> {
  return sql<LiveLink[]>`
    select a.id, a.kind, a.name, a.inherit_permissions as "inheritPermissions", a.status, a.role,
           a.expires_at is not null and a.expires_at <= now() as expired
      from auth.identity i
      join auth.identity a on a.org_id = i.org_id and a.id = any(i.lineage)
     where i.org_id = ${orgId}
       and i.id = ${id}
     order by a.depth
  `;
}

export async function insertUser(
  sql: Sql,
  { orgId, id, name, role }: IdentityKey & { name: string; role: Role },
): Promise<void> {
  await sql`
    insert into auth.identity (id, org_id, kind, name, owner_id, depth, lineage, role)
    values (${id}, ${orgId}, 'user', ${name}, ${id}, 0, array[${id}::uuid], ${role})
  `;
}

export interface NewChild extends IdentityKey {
  readonly parentId: string;
  readonly kind: 'agent' | 'subagent';
  readonly name: string;
  readonly inheritPermissions: boolean;
  readonly autoCallOnApprove: boolean;
  readonly createdBy: string;
  readonly ttlSeconds: number | null;
}

/**
 * Inserts a child of `parentId`. The child has the owner of its parent. False when an active child
 * of this parent already has the name.
 */
export async function insertChild(sql: Sql, child: NewChild): Promise<boolean> {
  const rows = await sql`
    insert into auth.identity (id, org_id, kind, name, parent_id, owner_id, depth, lineage,
                               inherit_permissions, auto_call_on_approve, created_by, expires_at)
    select ${child.id}, p.org_id, ${child.kind}, ${child.name}, p.id, p.owner_id, p.depth + 1,
           p.lineage || ${child.id}::uuid, ${child.inheritPermissions},
           ${child.autoCallOnApprove}, ${child.createdBy},
           now() + make_interval(secs => ${child.ttlSeconds}::float8)
      from auth.identity p
     where p.org_id = ${child.orgId}
       and p.id = ${child.parentId}
        on conflict (org_id, parent_id, name) where kind <> 'user' and status = 'active' do nothing
    returning id
  `;
  return rows.length === 1;
}

/**
 * Locks a user's tree of identities until the transaction ends, by locking the user's row. Every
 * change of the tree takes this lock. So no child can be created below an identity that another
 * request is revoking, and parallel requests cannot exceed a limit together.
 */
export async function lockTree(
  sql: Sql,
  { orgId, ownerId }: { orgId: string; ownerId: string },
): Promise<void> {
  await sql`
    select id
      from auth.identity
     where org_id = ${orgId}
       and id = ${ownerId}
       for no key update
  `;
}

/**
 * Counts the identities of one kind below `id` that are not revoked and have no expired ancestor.
 */
export async function countLiveIdentitiesBelow(
  sql: Sql,
  { orgId, id, kind }: IdentityKey & { kind: IdentityKind },
): Promise<number> {
  const [row] = await sql<{ live: number }[]>`
    select count(*)::integer as live
      from auth.identity i
     where i.org_id = ${orgId}
       and i.lineage @> array[${id}::uuid]
       and i.id <> ${id}
       and i.kind = ${kind}
       and i.status <> 'revoked'
       and not exists (select 1
                         from auth.identity a
                        where a.org_id = i.org_id
                          and a.id = any(i.lineage)
                          and a.expires_at <= now())
  `;
  return row?.live ?? 0;
}

/**
 * Finds an expired child with this name. No new child can have the name until the expired child is
 * revoked.
 */
export async function findExpiredChild(
  sql: Sql,
  { orgId, parentId, name }: { orgId: string; parentId: string; name: string },
): Promise<Identity | undefined> {
  const [row] = await sql<IdentityRow[]>`
    select ${identityColumns(sql)}
      from auth.identity i
     where i.org_id = ${orgId}
       and i.parent_id = ${parentId}
       and i.name = ${name}
       and i.status = 'active'
       and i.expires_at <= now()
  `;
  return row && toIdentity(row);
}

/**
 * Revokes an identity and all its descendants. Returns the ids that it revoked, beginning with the
 * identity itself.
 */
export async function revokeSubtree(sql: Sql, { orgId, id }: IdentityKey): Promise<string[]> {
  const rows = await sql<{ id: string; depth: number }[]>`
    update auth.identity
       set status = 'revoked'
     where org_id = ${orgId}
       and lineage @> array[${id}::uuid]
       and status <> 'revoked'
    returning id, depth
  `;
  return rows.toSorted((left, right) => left.depth - right.depth).map((row) => row.id);
}

/** Counts the active, unexpired admins of the org other than `exceptId`. */
export async function countOtherActiveAdmins(
  sql: Sql,
  { orgId, exceptId }: { orgId: string; exceptId: string },
): Promise<number> {
  const [row] = await sql<{ admins: number }[]>`
    select count(*)::integer as admins
      from auth.identity
     where org_id = ${orgId}
       and role = 'admin'
       and status = 'active'
       and (expires_at is null or expires_at > now())
       and id <> ${exceptId}
  `;
  return row?.admins ?? 0;
}

export async function touchSignIn(sql: Sql, { orgId, id }: IdentityKey): Promise<void> {
  await sql`
    update auth.identity
       set last_sign_in_at = now(), last_active_at = now()
     where org_id = ${orgId}
       and id = ${id}
  `;
}

function toIdentity(row: IdentityRow): Identity {
  return {
    id: row.id,
    orgId: row.org_id,
    kind: row.kind,
    name: row.name,
    parentId: row.parent_id,
    ownerId: row.owner_id,
    depth: row.depth,
    lineage: row.lineage,
    path: row.path,
    displayName: row.display_name,
    inheritPermissions: row.inherit_permissions,
    autoCallOnApprove: row.auto_call_on_approve,
    status: row.status,
    archivedRank: row.archived_rank,
    role: row.role,
    email: row.email,
    createdBy: row.created_by,
    createdAt: row.created_at,
    expiresAt: row.expires_at,
    lastActiveAt: row.last_active_at,
  };
}
