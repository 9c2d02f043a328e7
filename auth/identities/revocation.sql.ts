import type { Sql } from '#database';
import { revokeSubtree } from './identities.sql.ts';

/**
 * Revokes an identity, all its descendants, and all their credentials. Returns the ids of the
 * revoked identities.
 */
export async function revokeWithCredentials(
  sql: Sql,
  { orgId, id }: { orgId: string; id: string },
): Promise<string[]> {
  const identityIds = await revokeSubtree(sql, { orgId, id });
  await revokeAgentKeysOf(sql, { orgId, identityIds });
  await endSessionsOf(sql, { orgId, identityIds });
  await revokeOauthGrantsOf(sql, { orgId, identityIds });
  await deleteOauthBindingsOf(sql, { orgId, identityIds });
  return identityIds;
}

interface RevokedIdentities {
  readonly orgId: string;
  readonly identityIds: readonly string[];
}

async function revokeAgentKeysOf(
  sql: Sql,
  { orgId, identityIds }: RevokedIdentities,
): Promise<void> {
  await sql`
    update auth.agent_key
       set revoked_at = now()
     where org_id = ${orgId}
       and identity_id = any(${identityIds}::uuid[])
       and revoked_at is null
  `;
}

async function endSessionsOf(sql: Sql, { orgId, identityIds }: RevokedIdentities): Promise<void> {
  await sql`
    update auth.session
       set ended_at = now()
     where org_id = ${orgId}
       and identity_id = any(${identityIds}::uuid[])
       and ended_at is null
  `;
}

/**
 * Revokes the OAuth grants that these identities gave, and the grants with tokens that act as one
 * of these identities.
 */
async function revokeOauthGrantsOf(
  sql: Sql,
  { orgId, identityIds }: RevokedIdentities,
): Promise<void> {
  await sql`
    update auth.oauth_grant
       set revoked_at = now()
     where org_id = ${orgId}
       and (identity_id = any(${identityIds}::uuid[]) or user_id = any(${identityIds}::uuid[]))
       and revoked_at is null
  `;
}

async function deleteOauthBindingsOf(
  sql: Sql,
  { orgId, identityIds }: RevokedIdentities,
): Promise<void> {
  await sql`
    delete from auth.oauth_binding
     where org_id = ${orgId}
       and (agent_id = any(${identityIds}::uuid[]) or user_id = any(${identityIds}::uuid[]))
  `;
}
