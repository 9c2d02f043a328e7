import type { Sql } from '#database';
import type { LiveLink } from './domain/identity.ts';

/** An identity of a chain, with the fields that policy and approvals need to check a call again. */
export interface CheckedLink extends LiveLink {
  /**
   * The ids of the OAuth clients that may decide their own approvals as this identity. Clients that
   * the org has revoked are left out.
   */
  readonly selfApprovingClients: readonly string[];
}

/** Lists the identities from the user down to `id`; empty when `id` does not exist. */
export async function listCheckedChain(
  sql: Sql,
  { orgId, id }: { orgId: string; id: string },
): Promise<CheckedLink[]> {
  return sql<CheckedLink[]>`
    select a.id, a.kind, a.name, a.inherit_permissions as "inheritPermissions", a.status, a.role,
           a.expires_at is not null and a.expires_at <= now() as expired,
           array (select b.client_id
                     from auth.oauth_binding b
                    where b.org_id = a.org_id
                      and b.agent_id = a.id
                      and b.self_approve_enabled
                      and not exists (select
                                        from auth.oauth_client_revocation r
                                       where r.org_id = b.org_id
                                         and r.client_id = b.client_id)
                    order by b.client_id
                    limit 100) as "selfApprovingClients"
      from auth.identity i
      join auth.identity a on a.org_id = i.org_id and a.id = any(i.lineage)
     where i.org_id = ${orgId}
       and i.id = ${id}
     order by a.depth
  `;
}
