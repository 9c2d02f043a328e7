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
  readonly requestedBy: IdentityReference;
  /** The chain of who asked, the user first. */
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
  requested_by: IdentityReference;
  audience: string[];
  created_at: Date;
  expires_at: Date;
  is_expired: boolean;
  is_provided: boolean;
}

const selected = (sql: Sql) => sql`
  id, org_id, name, tier, owner_id, reason, allowed_hosts, requested_by, audience, created_at,
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
  readonly requestedBy: IdentityReference;
  readonly audience: readonly string[];
  readonly tokenHash: Buffer;
  readonly ttlSeconds: number;
}

/**
 * Seconds until one of the open requests of an identity runs out, when it has `max` of them or
 * more; else null. Its requests are counted and added one after the other.
 */
export async function findFullFor(
  sql: Sql,
  { orgId, requesterId, max }: { orgId: string; requesterId: string; max: number },
): Promise<number | null> {
  await sql`select pg_advisory_xact_lock(hashtext(${`secret requests ${orgId} ${requesterId}`}))`;
  const [row] = await sql<{ open: number; seconds: number | null }[]>`
    select count(*)::integer as open,
           ceil(extract(epoch from min(expires_at) - now()))::integer as seconds
      from executor.secret_request
     where org_id = ${orgId}
       and requester_id = ${requesterId}
       and provided_at is null
       and expires_at > now()
  `;
  return row !== undefined && row.open >= max ? (row.seconds ?? 1) : null;
}

export async function insertSecretRequest(
  sql: Sql,
  request: NewSecretRequest,
): Promise<SecretRequestRow> {
  const [row] = await sql<Row[]>`
    insert into executor.secret_request (id, org_id, name, tier, owner_id, reason, allowed_hosts,
                                         requester_id, requested_by, audience, token_hash, expires_at)
    values (${request.id}, ${request.orgId}, ${request.name}, ${request.tier}, ${request.ownerId},
            ${request.reason}, ${[...request.allowedHosts]}, ${request.requestedBy.id},
            ${JSON.stringify(request.requestedBy)}::text::jsonb, ${[...request.audience]}::uuid[],
            ${request.tokenHash}, now() + make_interval(secs => ${request.ttlSeconds}))
    returning ${selected(sql)}
  `;
  if (!row) throw new Error('insert of a secret request returned no row');
  return toRequest(row);
}

export async function findSecretRequest(
  sql: Sql,
  { orgId, tokenHash }: { orgId: string; tokenHash: Buffer },
): Promise<SecretRequestRow | undefined> {
  const [row] = await sql<Row[]>`
    select ${selected(sql)}
      from executor.secret_request
     where org_id = ${orgId}
       and token_hash = ${tokenHash}
  `;
  return row && toRequest(row);
}

/** Uses the link up; false when it was used or ran out meanwhile: of any number at once exactly one succeeds. */
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

/** A month after its link has ended, the audit log alone remembers a request. */
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
    requestedBy: row.requested_by,
    audience: row.audience,
    createdAt: row.created_at,
    expiresAt: row.expires_at,
    isExpired: row.is_expired,
    isProvided: row.is_provided,
  };
}
