import type { IdentityKind, Role, Scope } from '#contracts/vocabulary';
import type { Sql } from '#database';
import type { LiveLink } from '../identities/domain/identity.ts';
import { openSessionCondition } from '../sessions/session-limits.sql.ts';
import { listedGrantClientCondition } from '../oauth-clients/oauth-clients.sql.ts';

/**
 * A link of a chain; `endsAtMs` is the expiry of the identity in milliseconds since the epoch, or
 * null if it never expires.
 */
type EndingLink = LiveLink & { readonly endsAtMs: number | null };

/**
 * A credential that is neither revoked nor expired, with its identity and the chain of that
 * identity. Identities in the chain may be archived.
 */
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

/**
 * Finds the credential, its identity and the whole chain in one query. The query needs no org id,
 * because the hash belongs to exactly one credential.
 */
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

export async function findSessionCredential(
  sql: Sql,
  { hash }: { hash: Buffer },
): Promise<FoundCredential | undefined> {
  const [row] = await sql<CredentialRow[]>`
    select s.id as credential_id, ${identityColumns(sql)}
      from auth.session s
      join auth.identity i on i.org_id = s.org_id and i.id = s.identity_id
      join auth.org o on o.id = s.org_id
     where s.hash = ${hash}
       and ${openSessionCondition(sql)}
  `;
  return row && toCredential(row);
}

/** An access token is valid while its OAuth grant is valid and the org allows its OAuth client. */
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
       and ${listedGrantClientCondition(sql)}
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
