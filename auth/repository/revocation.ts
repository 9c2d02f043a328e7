import type { Sql } from '#database';
import { revokeAgentKeysOf } from './agent-keys.ts';
import { revokeSubtree } from './identities.ts';
import { deleteOauthBindingsOf } from './oauth-bindings.ts';
import { revokeOauthGrantsOf } from './oauth-grants.ts';
import { endSessionsOf } from './sessions.ts';

/** Ends an identity, everything below it, and every credential of theirs; the ids that ended. */
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
