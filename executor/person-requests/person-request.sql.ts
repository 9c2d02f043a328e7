import type { RequestStatus } from '#contracts/http/requests';
import type { IdentityReference } from '#contracts/vocabulary';
import type { Sql, Transaction } from '#database';
import { requestColumns, statusNow, toRequest } from './person-request-row.sql.ts';
import type { PersonRequest, Row } from './person-request-row.sql.ts';

export interface UserKey {
  readonly orgId: string;
  readonly userId: string;
}
/** The fields that are equal in two requests for the same thing. */
export type SameRequest = UserKey &
  Pick<PersonRequest, 'kind' | 'tier' | 'template' | 'name' | 'scopes' | 'connectionId'>;

/**
 * Locks the requests of this user until the transaction ends, so that no other transaction counts
 * or adds requests of the user.
 */
export async function lockRequestsOf(tx: Transaction, { orgId, userId }: UserKey): Promise<void> {
  await tx`select pg_advisory_xact_lock(hashtextextended(${`person requests ${orgId} ${userId}`}, 0))`;
}

export async function findOpenSameRequest(
  sql: Sql,
  wanted: SameRequest,
): Promise<PersonRequest | undefined> {
  const [row] = await sql<Row[]>`
    select ${requestColumns(sql)}
      from executor.person_request
     where org_id = ${wanted.orgId}
       and user_id = ${wanted.userId}
       and kind = ${wanted.kind}
       and tier = ${wanted.tier}
       and template_key is not distinct from ${wanted.template?.key ?? null}
       and name = ${wanted.name}
       and connection_id is not distinct from ${wanted.connectionId}
       and scopes @> ${wanted.scopes}::text[]
       and status = 'open'
       and expires_at > now()
       for update
  `;
  return row && toRequest(row);
}

export type NewPersonRequest = Pick<
  PersonRequest,
  | 'id'
  | 'orgId'
  | 'kind'
  | 'requester'
  | 'userId'
  | 'chainIds'
  | 'tier'
  | 'template'
  | 'name'
  | 'actions'
  | 'scopes'
  | 'hosts'
  | 'reason'
  | 'connectionId'
> & { readonly ttlSeconds: number };

export async function insertRequest(sql: Sql, request: NewPersonRequest): Promise<PersonRequest> {
  const [row] = await sql<Row[]>`
    insert into executor.person_request
           (id, org_id, kind, requester_id, requester, user_id, chain_ids, audience, tier,
            template_key, template_title, name, actions, scopes, hosts, reason,
            connection_id, expires_at)
    values (${request.id}, ${request.orgId}, ${request.kind}, ${request.requester.id},
            ${sql.json({ ...request.requester })}, ${request.userId}, ${request.chainIds}::uuid[],
            ${request.chainIds}::uuid[], ${request.tier}, ${request.template?.key ?? null}, ${request.template?.title ?? null},
            ${request.name}, ${request.actions}, ${request.scopes}, ${request.hosts},
            ${request.reason}, ${request.connectionId}, now() + make_interval(secs => ${request.ttlSeconds}))
    returning ${requestColumns(sql)}
  `;
  if (!row) throw new Error('insert of a request returned no row');
  return toRequest(row);
}

export async function findRequest(
  sql: Sql,
  { orgId, id }: { orgId: string; id: string },
): Promise<PersonRequest | undefined> {
  const [row] = await sql<Row[]>`
    select ${requestColumns(sql)}
      from executor.person_request
     where org_id = ${orgId}
       and id = ${id}
  `;
  return row && toRequest(row);
}

/** Lists requests, newest first. With an `identityId`, only requests whose audience includes it. */
export async function listRequests(
  sql: Sql,
  {
    orgId,
    identityId,
    status,
    limit,
    before,
  }: {
    orgId: string;
    identityId: string | null;
    status: RequestStatus | null;
    limit: number;
    before: string | null;
  },
): Promise<PersonRequest[]> {
  const rows = await sql<Row[]>`
    select ${requestColumns(sql)}
      from executor.person_request
     where org_id = ${orgId}
       and (${identityId}::uuid is null or audience @> array[${identityId}::uuid])
       and (${status}::text is null or ${statusNow(sql)} = ${status})
       and (${before}::uuid is null or id < ${before})
     order by id desc
     limit ${limit}
  `;
  return rows.map(toRequest);
}

/** The open requests that these identities made. */
export async function listOpenRequestsBy(
  sql: Sql,
  { orgId, requesterIds }: { orgId: string; requesterIds: readonly string[] },
): Promise<PersonRequest[]> {
  const rows = await sql<Row[]>`
    select ${requestColumns(sql)}
      from executor.person_request
     where org_id = ${orgId}
       and requester_id = any(${[...requesterIds]}::uuid[])
       and status = 'open'
       and expires_at > now()
  `;
  return rows.map(toRequest);
}

/**
 * Selects the requests that one decline answers together: those for services of the same template,
 * for accounts at the same provider, or for the secret of the same name.
 */
export const declinedTogetherCondition = (
  sql: Sql,
  {
    kind,
    tier,
    template,
    name,
    connectionId,
  }: Pick<SameRequest, 'kind' | 'tier' | 'template' | 'name' | 'connectionId'>,
) => sql`
  kind = ${kind}
  and tier = ${tier}
  and case kind
        when 'service' then template_key = ${template?.key ?? null}
        when 'secret' then name = ${name}
        else exists (select 1
                       from executor.connection as asked
                       join executor.connection as wanted using (org_id, provider)
                      where asked.id = person_request.connection_id
                        and wanted.id = ${connectionId})
      end
`;

/** The open requests, under any name, that are declined together with this one. */
export async function listOpenRequestsLike(
  sql: Sql,
  request: PersonRequest,
): Promise<PersonRequest[]> {
  const rows = await sql<Row[]>`
    select ${requestColumns(sql)}
      from executor.person_request
     where org_id = ${request.orgId}
       and user_id = ${request.userId}
       and ${declinedTogetherCondition(sql, request)}
       and status = 'open'
       and expires_at > now()
  `;
  return rows.map(toRequest);
}

export interface Closing {
  readonly orgId: string;
  readonly id: string;
  readonly status: Exclude<RequestStatus, 'open' | 'expired'>;
  /** Null when the requester was revoked. */
  readonly decidedBy: IdentityReference | null;
  readonly declineReason?: string | null;
  readonly serviceId?: string | null;
  readonly serviceName?: string | null;
}

/**
 * Closes an open request. Undefined when it was closed or has expired already: only one of several
 * concurrent attempts succeeds.
 */
export async function closeRequest(sql: Sql, closing: Closing): Promise<PersonRequest | undefined> {
  const { orgId, id, status, decidedBy, declineReason = null } = closing;
  const { serviceId = null, serviceName = null } = closing;
  const [row] = await sql<Row[]>`
    update executor.person_request
       set status = ${status}, closed_at = now(), decided_by = ${decidedBy && sql.json({ ...decidedBy })},
           decline_reason = ${declineReason}, service_id = ${serviceId}, service_name = ${serviceName}
     where org_id = ${orgId}
       and id = ${id}
       and status = 'open'
       and expires_at > now()
    returning ${requestColumns(sql)}
  `;
  return row && toRequest(row);
}

/** Closes, across orgs, requests whose time is over. Each request is closed by one replica. */
export async function expireRequests(
  sql: Sql,
  { limit }: { limit: number },
): Promise<PersonRequest[]> {
  const rows = await sql<Row[]>`
    update executor.person_request
       set status = 'expired', closed_at = now()
     where id in (select id
                    from executor.person_request
                   where status = 'open'
                     and expires_at <= now()
                   limit ${limit}
                     for update skip locked)
    returning ${requestColumns(sql)}
  `;
  return rows.map(toRequest);
}

/** Closes the requests of this user whose time is over, without waiting for the sweep. */
export async function expireRequestsOf(
  sql: Sql,
  { orgId, userId }: UserKey,
): Promise<PersonRequest[]> {
  const rows = await sql<Row[]>`
    update executor.person_request
       set status = 'expired', closed_at = now()
     where org_id = ${orgId}
       and user_id = ${userId}
       and status = 'open'
       and expires_at <= now()
    returning ${requestColumns(sql)}
  `;
  return rows.map(toRequest);
}

/** Deletes, across orgs, requests a month after they were closed. */
export async function pruneRequests(sql: Sql, { limit }: { limit: number }): Promise<void> {
  await sql`
    delete from executor.person_request
     where id in (select id
                    from executor.person_request
                   where status <> 'open'
                     and closed_at < now() - interval '30 days'
                   limit ${limit})
  `;
}
