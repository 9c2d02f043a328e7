import type { Scope } from '#contracts/vocabulary';
import type { Sql } from '#database';
import { listedGrantClientCondition } from './oauth-clients.sql.ts';

export interface OauthGrant {
  readonly id: string;
  readonly orgId: string;
  readonly userId: string;
  /** The identity that the tokens of the grant act as. */
  readonly identityId: string;
  readonly clientId: string;
  readonly scopes: readonly Scope[];
  readonly resource: string;
  readonly createdAt: Date;
  readonly expiresAt: Date;
}

interface GrantRow {
  id: string;
  org_id: string;
  user_id: string;
  identity_id: string;
  client_id: string;
  scopes: Scope[];
  resource: string;
  created_at: Date;
  expires_at: Date;
}

const grantColumns = (sql: Sql) => sql`
  g.id, g.org_id, g.user_id, g.identity_id, g.client_id, g.scopes, g.resource, g.created_at,
  g.expires_at
`;

type NewGrant = Omit<OauthGrant, 'createdAt' | 'expiresAt'>;

/**
 * Inserts a grant. Undefined when the identity may no longer act, or when the org has revoked the
 * client.
 */
export async function insertOauthGrant(sql: Sql, grant: NewGrant): Promise<OauthGrant | undefined> {
  const { id, orgId, userId, identityId, clientId, scopes, resource } = grant;
  const [row] = await sql<GrantRow[]>`
    insert into auth.oauth_grant as g (id, org_id, user_id, identity_id, client_id, scopes,
                                       resource, expires_at)
    select ${id}, i.org_id, ${userId}, i.id, ${clientId}, ${[...scopes]}::text[], ${resource},
           now() + interval '180 days'
      from auth.identity i
     where i.org_id = ${orgId}
       and i.id = ${identityId}
       and ${liveIdentityCondition(sql)}
       and not exists (select 1
                         from auth.oauth_client_revocation r
                        where r.org_id = i.org_id
                          and r.client_id = ${clientId})
    returning ${grantColumns(sql)}
  `;
  return row && toGrant(row);
}

/**
 * Finds a grant. Undefined when the grant has ended, when its identity may not act, or when the org
 * does not allow its client.
 */
export async function findLiveOauthGrant(
  sql: Sql,
  { orgId, id }: { orgId: string; id: string },
): Promise<OauthGrant | undefined> {
  const [row] = await sql<GrantRow[]>`
    select ${grantColumns(sql)}
      from auth.oauth_grant g
      join auth.identity i on i.org_id = g.org_id and i.id = g.identity_id
     where g.org_id = ${orgId}
       and g.id = ${id}
       and g.revoked_at is null
       and g.expires_at > now()
       and ${liveIdentityCondition(sql)}
       and ${listedGrantClientCondition(sql)}
       and not exists (select 1
                         from auth.oauth_client_revocation r
                        where r.org_id = g.org_id
                          and r.client_id = g.client_id)
  `;
  return row && toGrant(row);
}

/** Whether the identity `i` and all its ancestors may act. */
const liveIdentityCondition = (sql: Sql) => sql`
  not exists (select 1
                from auth.identity a
               where a.org_id = i.org_id
                 and a.id = any(i.lineage)
                 and (a.status <> 'active' or a.expires_at <= now()))
`;

/** Revokes a grant; undefined when it had ended before. */
export async function revokeOauthGrant(
  sql: Sql,
  { orgId, id }: { orgId: string; id: string },
): Promise<OauthGrant | undefined> {
  const [row] = await sql<GrantRow[]>`
    update auth.oauth_grant g
       set revoked_at = now()
     where g.org_id = ${orgId}
       and g.id = ${id}
       and g.revoked_at is null
    returning ${grantColumns(sql)}
  `;
  return row && toGrant(row);
}

/** Revokes all grants that a user gave a client for one agent. */
export async function revokeOauthGrantsOfBinding(
  sql: Sql,
  binding: { orgId: string; userId: string; clientId: string; agentId: string },
): Promise<void> {
  await sql`
    update auth.oauth_grant
       set revoked_at = now()
     where org_id = ${binding.orgId}
       and user_id = ${binding.userId}
       and client_id = ${binding.clientId}
       and identity_id = ${binding.agentId}
       and revoked_at is null
  `;
}

/**
 * Deletes, in every org, the grants whose tokens have all expired. A grant in use always has an
 * unexpired refresh token, so it is kept.
 */
export async function pruneOauthGrants(sql: Sql, limit: number): Promise<number> {
  const { count } = await sql`
    delete from auth.oauth_grant
     where id in (select g.id
                    from auth.oauth_grant g
                   where g.created_at < now() - interval '1 day'
                     and not exists (select 1
                                       from auth.oauth_token t
                                      where t.org_id = g.org_id
                                        and t.grant_id = g.id
                                        and t.expires_at > now())
                   limit ${limit})
  `;
  return count;
}

function toGrant(row: GrantRow): OauthGrant {
  return {
    id: row.id,
    orgId: row.org_id,
    userId: row.user_id,
    identityId: row.identity_id,
    clientId: row.client_id,
    scopes: row.scopes,
    resource: row.resource,
    createdAt: row.created_at,
    expiresAt: row.expires_at,
  };
}
