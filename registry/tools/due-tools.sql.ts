import type { Sql } from '#database';
import type { Service } from '../services/domain/service.ts';
import { serviceColumns, toService } from '../services/service-row.sql.ts';
import type { ServiceRow } from '../services/service-row.sql.ts';

interface ServiceKey {
  readonly orgId: string;
  readonly serviceId: string;
}

/**
 * The shortest time between two requests for the tools of one server: when the service is used, and
 * when the server reports a change.
 */
const inUseSeconds = 300;
const afterChangeSeconds = 10;

/**
 * Moves the next request for tools forward. The shortest time between two requests still holds,
 * even if a server reports changes all the time.
 */
export async function bringForwardToolRequest(
  sql: Sql,
  { orgId, serviceId, isTold }: ServiceKey & { isTold: boolean },
): Promise<void> {
  const notBeforeSeconds = isTold ? afterChangeSeconds : inUseSeconds;
  await sql`
    update registry.connected_service
       set tools_due_at = tools_asked_at + ${notBeforeSeconds}::integer * interval '1 second'
     where org_id = ${orgId}
       and id = ${serviceId}
       and tools_due_at > tools_asked_at + ${notBeforeSeconds}::integer * interval '1 second'
  `;
}

/**
 * Claims a service if its MCP server is due to be asked for its list of tools; undefined when the
 * server is not due or another replica has claimed the service.
 */
export async function claimDueService(
  sql: Sql,
  { orgId, serviceId }: ServiceKey,
): Promise<Service | undefined> {
  const [row] = await sql<ServiceRow[]>`
    update registry.connected_service
       set tools_asked_at = now(),
           tools_due_at = now() + interval '1 hour'
     where org_id = ${orgId}
       and id = ${serviceId}
       and toolset_version is not null
       and not is_disabled
       and tools_due_at <= now()
    returning ${serviceColumns(sql)}
  `;
  return row && toService(row);
}

/**
 * Claims a few services of all orgs whose MCP servers are due to be asked for their lists of tools,
 * so that no other replica asks these servers.
 */
export async function claimDueServices(sql: Sql, { limit }: { limit: number }): Promise<Service[]> {
  const rows = await sql<ServiceRow[]>`
    update registry.connected_service
       set tools_asked_at = now(),
           tools_due_at = now() + interval '1 hour'
     where id in (
             select due.id
               from registry.connected_service as due
              where due.toolset_version is not null
                and not due.is_disabled
                and due.tools_due_at <= now()
              order by due.tools_due_at
              limit ${limit}
                for update skip locked
           )
    returning ${serviceColumns(sql)}
  `;
  return rows.map(toService);
}
