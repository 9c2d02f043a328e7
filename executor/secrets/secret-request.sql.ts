import type { CredentialPart } from '#contracts/credential-derivation';
import type { IdentityReference, Tier } from '#contracts/vocabulary';
import type { Sql } from '#database';

export interface SecretRequestRow {
  readonly id: string;
  readonly orgId: string;
  readonly name: string;
  readonly tier: Tier;
  readonly ownerId: string | null;
  readonly reason: string | null;
  readonly allowedHosts: string[];
  /** Null for a secret without parts. */
  readonly parts: CredentialPart[] | null;
  readonly requestedBy: IdentityReference;
  /** The requester and its ancestors, the user first. */
  readonly audience: string[];
  readonly createdAt: Date;
  readonly expiresAt: Date;
  readonly isExpired: boolean;
  readonly isProvided: boolean;
}

interface Row {
  id: string;
  org_id: string;
  name: string;
  tier: Tier;
  owner_id: string | null;
  reason: string | null;
  allowed_hosts: string[];
  parts: CredentialPart[] | null;
  requested_by: IdentityReference;
  audience: string[];
  created_at: Date;
  expires_at: Date;
  is_expired: boolean;
  is_provided: boolean;
}

const requestColumns = (sql: Sql) => sql`
  id, org_id, name, tier, owner_id, reason, allowed_hosts, parts, requested_by, audience, created_at,
  expires_at, expires_at <= now() as is_expired, provided_at is not null as is_provided
`;

export interface NewSecretRequest {
  readonly id: string;
  readonly orgId: string;
  readonly name: string;
  readonly tier: Tier;
  readonly ownerId: string | null;
  readonly reason: string | null;
  readonly allowedHosts: readonly string[];
  readonly parts: readonly CredentialPart[] | null;
  readonly requestedBy: IdentityReference;
  readonly audience: readonly string[];
  readonly tokenHash: Buffer;
  readonly ttlSeconds: number;
}

export async function insertSecretRequest(
  sql: Sql,
  request: NewSecretRequest,
): Promise<SecretRequestRow> {
  const [row] = await sql<Row[]>`
    insert into executor.secret_request (id, org_id, name, tier, owner_id, reason, allowed_hosts,
                                         parts, requester_id, requested_by, audience, token_hash, expires_at)
    values (${request.id}, ${request.orgId}, ${request.name}, ${request.tier}, ${request.ownerId},
            ${request.reason}, ${[...request.allowedHosts]},
            ${request.parts === null ? null : JSON.stringify(request.parts)}::text::jsonb, ${request.requestedBy.id},
            ${JSON.stringify(request.requestedBy)}::text::jsonb, ${[...request.audience]}::uuid[],
            ${request.tokenHash}, now() + make_interval(secs => ${request.ttlSeconds}))
    returning ${requestColumns(sql)}
  `;
  if (!row) throw new Error('insert of a secret request returned no row');
  return toRequest(row);
}

/**
 * Finds a secret request by the token of its link, or by its id, which the URL of its page contains
 * (`/requests/{id}`). The id alone gives no right: who may answer depends only on the signed-in
 * person.
 */
export async function findSecretRequest(
  sql: Sql,
  { orgId, tokenHash, id }: { orgId: string; tokenHash: Buffer; id: string | null },
): Promise<SecretRequestRow | undefined> {
  const [row] = await sql<Row[]>`
    select ${requestColumns(sql)}
      from executor.secret_request
     where org_id = ${orgId}
       and (token_hash = ${tokenHash} or id = ${id})
  `;
  return row && toRequest(row);
}

/**
 * Marks a link as used. False when the link was used before or has expired. Of several concurrent
 * attempts exactly one succeeds.
 */
export async function consumeSecretRequest(
  sql: Sql,
  { orgId, id, providedBy }: { orgId: string; id: string; providedBy: string },
): Promise<boolean> {
  const rows = await sql`
    update executor.secret_request
       set provided_at = now(), provided_by = ${providedBy}
     where org_id = ${orgId}
       and id = ${id}
       and provided_at is null
       and expires_at > now()
    returning id
  `;
  return rows.length === 1;
}

/**
 * Deletes secret requests a month after their link ended. The audit log keeps its records of them.
 */
export async function pruneSecretRequests(sql: Sql, { limit }: { limit: number }): Promise<void> {
  await sql`
    delete from executor.secret_request
     where id in (select id
                    from executor.secret_request
                   where expires_at < now() - interval '30 days'
                   limit ${limit})
  `;
}

function toRequest(row: Row): SecretRequestRow {
  return {
    id: row.id,
    orgId: row.org_id,
    name: row.name,
    tier: row.tier,
    ownerId: row.owner_id,
    reason: row.reason,
    allowedHosts: row.allowed_hosts,
    parts: row.parts,
    requestedBy: row.requested_by,
    audience: row.audience,
    createdAt: row.created_at,
    expiresAt: row.expires_at,
    isExpired: row.is_expired,
    isProvided: row.is_provided,
  };
}
