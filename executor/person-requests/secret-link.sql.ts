import type { Sql } from '#database';
import { requestColumns, toRequest } from './person-request-row.sql.ts';
import type { PersonRequest, Row } from './person-request-row.sql.ts';

/**
 * Ends the link of a secret request that was declined or cancelled. Executors of every release
 * refuse a link that has expired.
 */
export async function endSecretLink(
  sql: Sql,
  { orgId, id }: Pick<PersonRequest, 'orgId' | 'id'>,
): Promise<void> {
  await sql`
    update executor.secret_request
       set expires_at = now()
     where org_id = ${orgId}
       and id = ${id}
       and provided_at is null
       and expires_at > now()
  `;
}

/**
 * The open requests for a secret with this name and owner; `ownerId` is null for requests for a
 * secret of the org.
 */
export async function listOpenSecretRequests(
  sql: Sql,
  { orgId, ownerId, name }: { orgId: string; ownerId: string | null; name: string },
): Promise<PersonRequest[]> {
  const rows = await sql<Row[]>`
    select ${requestColumns(sql)}
      from executor.person_request
     where org_id = ${orgId}
       and (${ownerId}::uuid is null or user_id = ${ownerId})
       and tier = ${ownerId === null ? 'org' : 'user'}
       and kind = 'secret'
       and name = ${name}
       and status = 'open'
       and expires_at > now()
     order by id
     limit 100
  `;
  return rows.map(toRequest);
}

/**
 * Lists, across orgs, open requests whose secret was entered at an executor of an earlier release.
 * Such an executor closes only its own record of the request, not the person request.
 */
export async function listAnsweredSecretRequests(
  sql: Sql,
  { limit }: { limit: number },
): Promise<PersonRequest[]> {
  const rows = await sql<Row[]>`
    select ${requestColumns(sql)}
      from executor.person_request
     where kind = 'secret'
       and status = 'open'
       and exists (select 1
                     from executor.secret_request as answered
                    where answered.id = person_request.id
                      and answered.provided_at is not null)
     limit ${limit}
  `;
  return rows.map(toRequest);
}
