import type { Sql } from '#database';
import { requestColumns, toRequest } from './person-request-row.sql.ts';
import type { PersonRequest, Row } from './person-request-row.sql.ts';

/** The open requests for this connection, or for more of its scopes. */
export async function listOpenConnectionRequests(
  sql: Sql,
  { orgId, connectionId }: { orgId: string; connectionId: string },
): Promise<PersonRequest[]> {
  const rows = await sql<Row[]>`
    select ${requestColumns(sql)}
      from executor.person_request
     where org_id = ${orgId}
       and connection_id = ${connectionId}
       and kind = 'connection'
       and status = 'open'
       and expires_at > now()
     order by id
     limit 100
  `;
  return rows.map(toRequest);
}
