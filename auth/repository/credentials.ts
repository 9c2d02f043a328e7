import type { IdentityKind, Role, Scope } from '#contracts/vocabulary';
import type { Sql } from '#database';
import type { LiveLink } from '../domain/identity.ts';
import { grantIsListed } from './oauth-clients.ts';

/** `endsAtMs`: since the epoch; null for no end. */
type EndingLink = LiveLink & { readonly endsAtMs: number | null };

/** A credential that is good in itself, with the identity it resolves to and that one's chain. */
export interface FoundCredential {
  readonly credentialId: string;
  readonly orgId: string;
  readonly identityId: string;
  readonly kind: IdentityKind;
  readonly ownerId: string;
  readonly role: Role | null;
  readonly autoCallOnApprove: boolean;
  readonly chain: readonly EndingLink[];
}

export interface FoundAccessToken extends FoundCredential {
  readonly clientId: string;
  readonly scopes: readonly Scope[];
}

interface CredentialRow {
  credential_id: string;
  org_id: string;
  identity_id: string;
  kind: IdentityKind;
  owner_id: string;
  role: Role | null;
  auto_call_on_approve: boolean;
  chain: EndingLink[];
}

/** One look-up by hash for the credential, its identity and the whole chain. No org: the credential tells it. */
export async function findAgentKeyCredential(
  sql: Sql,
  { hash }: { hash: Buffer },
): Promise<FoundCredential | undefined> {
  const [row] = await sql<CredentialRow[]>`
    select k.id as credential_id, ${identityColumns(sql)}
      from auth.agent_key k
      join auth.identity i on i.org_id = k.org_id and i.id = k.identity_id
     where k.hash = ${hash}
       and k.revoked_at is null
       and (k.expires_at is null or k.expires_at > now())
  `;
  return row && toCredential(row);
}

/** A session is used at least every twelve hours, and for at most seven days. */
export async function findSessionCredential(
  sql: Sql,
  { hash }: { hash: Buffer },
): Promise<FoundCredential | undefined> {
  const [row] = await sql<CredentialRow[]>`
    select s.id as credential_id, ${identityColumns(sql)}
      from auth.session s
      join auth.identity i on i.org_id = s.org_id and i.id = s.identity_id
     where s.hash = ${hash}
       and s.ended_at is null
       and s.expires_at > now()
       and s.last_used_at > now() - interval '12 hours'
  `;
  return row && toCredential(row);
}

/** An access token counts while its grant does, and the org's admins let its client in. */
export async function findAccessTokenCredential(
  sql: Sql,
  { hash }: { hash: Buffer },
): Promise<FoundAccessToken | undefined> {
  const [row] = await sql<(CredentialRow & { client_id: string; scopes: Scope[] })[]>`
    select t.id as credential_id, g.client_id,
           string_to_array(t.payload ->> 'scope', ' ') as scopes, ${identityColumns(sql)}
      from auth.oauth_token t
      join auth.oauth_grant g on g.org_id = t.org_id and g.id = t.grant_id
      join auth.identity i on i.org_id = g.org_id and i.id = g.identity_id
     where t.hash = ${hash}
       and t.kind = 'access'
       and t.expires_at > now()
       and g.revoked_at is null
       and ${grantIsListed(sql)}
       and not exists (select 1
                         from auth.oauth_client_revocation r
                        where r.org_id = g.org_id
                          and r.client_id = g.client_id)
  `;
  return row && { ...toCredential(row), clientId: row.client_id, scopes: row.scopes };
}

const identityColumns = (sql: Sql) => sql`
  i.org_id, i.id as identity_id, i.kind, i.owner_id, i.role, i.auto_call_on_approve,
  (select json_agg(json_build_object(
            'id', a.id,
            'kind', a.kind,
            'name', a.name,
            'inheritPermissions', a.inherit_permissions,
            'status', a.status,
            'role', a.role,
            'expired', a.expires_at is not null and a.expires_at <= now(),
            'endsAtMs', floor(extract(epoch from a.expires_at) * 1000)
          ) order by a.depth)
     from auth.identity a
    where a.org_id = i.org_id
      and a.id = any(i.lineage)) as chain
`;

function toCredential(row: CredentialRow): FoundCredential {
  return {
    credentialId: row.credential_id,
    orgId: row.org_id,
    identityId: row.identity_id,
    kind: row.kind,
    ownerId: row.owner_id,
    role: row.role,
    autoCallOnApprove: row.auto_call_on_approve,
    chain: row.chain,
  };
}
