import type { IdentityKind, Role } from '#contracts/vocabulary';
import type { Sql } from '#database';
import { AppError } from '#errors';
import type { Identity, IdentityStatus, LiveLink } from '../domain/identity.ts';

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

interface OneIdentity {
  readonly orgId: string;
  readonly id: string;
}

/** Names change, ids do not: the path is put together when it is read. */
const columns = (sql: Sql) => sql`
  i.id, i.org_id, i.kind, i.name, i.parent_id, i.owner_id, i.depth, i.lineage,
  i.inherit_permissions, i.auto_call_on_approve, i.status, i.archived_rank, i.role, i.email,
  i.created_by, i.created_at, i.expires_at, i.last_active_at,
  (select array_agg(a.name order by a.depth)
     from auth.identity a
    where a.org_id = i.org_id
      and a.id = any(i.lineage)) as path
`;

export async function findIdentity(
  sql: Sql,
  { orgId, id }: OneIdentity,
): Promise<Identity | undefined> {
  const [row] = await sql<IdentityRow[]>`
    select ${columns(sql)}
      from auth.identity i
     where i.org_id = ${orgId}
       and i.id = ${id}
  `;
  return row && toIdentity(row);
}

export async function getIdentity(sql: Sql, one: OneIdentity): Promise<Identity> {
  const identity = await findIdentity(sql, one);
  if (identity === undefined) throw new AppError('not_found', 'There is no such identity.');
  return identity;
}

/** In order of creation, after `afterId`; below and including `withinId`, of one kind, when given. */
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
  const within = withinId === null ? sql`` : sql`and i.lineage @> array[${withinId}::uuid]`;
  const after = afterId === null ? sql`` : sql`and i.id > ${afterId}`;
  const ofKind = kind === undefined ? sql`` : sql`and i.kind = ${kind}`;
  const rows = await sql<IdentityRow[]>`
    select ${columns(sql)}
      from auth.identity i
     where i.org_id = ${orgId} ${within} ${ofKind} ${after}
     order by i.id
     limit ${limit}
  `;
  return rows.map(toIdentity);
}

/** The identities from the user down to `id`, as they stand now; empty when there is none. */
export async function listChain(sql: Sql, { orgId, id }: OneIdentity): Promise<LiveLink[]> {
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
  { orgId, id, name, role }: OneIdentity & { name: string; role: Role },
): Promise<void> {
  await sql`
    insert into auth.identity (id, org_id, kind, name, owner_id, depth, lineage, role)
    values (${id}, ${orgId}, 'user', ${name}, ${id}, 0, array[${id}::uuid], ${role})
  `;
}

export interface NewChild extends OneIdentity {
  readonly parentId: string;
  readonly kind: 'agent' | 'subagent';
  readonly name: string;
  readonly inheritPermissions: boolean;
  readonly autoCallOnApprove: boolean;
  readonly createdBy: string;
  readonly ttlSeconds: number | null;
}

/** Takes place and owner from the parent's row; false when an active sibling has the name. */
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
 * Held by every change of a user's tree (by locking the user's row), so that a child is never
 * made below somebody who is being revoked, and limits are counted once.
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

/** Identities of a kind below `id` that could still act, it and their ancestors being unexpired. */
export async function countLiveBelow(
  sql: Sql,
  { orgId, id, kind }: OneIdentity & { kind: IdentityKind },
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

/** An active child of that name whose time is over: it still holds the name until it is revoked. */
export async function findExpiredChild(
  sql: Sql,
  { orgId, parentId, name }: { orgId: string; parentId: string; name: string },
): Promise<Identity | undefined> {
  const [row] = await sql<IdentityRow[]>`
    select ${columns(sql)}
      from auth.identity i
     where i.org_id = ${orgId}
       and i.parent_id = ${parentId}
       and i.name = ${name}
       and i.status = 'active'
       and i.expires_at <= now()
  `;
  return row && toIdentity(row);
}

/** Revokes an identity and everything below it; the ids that this call revoked, itself first. */
export async function revokeSubtree(sql: Sql, { orgId, id }: OneIdentity): Promise<string[]> {
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

/** Users with that role who could act, beside `exceptId`. */
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

export async function touchSignIn(sql: Sql, { orgId, id }: OneIdentity): Promise<void> {
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
