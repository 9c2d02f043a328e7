import { v7 as uuidv7 } from 'uuid';

import type { Sql } from '#database';
import type { Pinned, ServiceTool, Toolset } from '../domain/toolset.ts';
import type { Service } from '../domain/service.ts';
import { selected, toService } from './service-row.ts';
import type { ServiceRow } from './service-row.ts';

interface OfService {
  readonly orgId: string;
  readonly serviceId: string;
}

/** What changes the tools of one service happens one after the other; undefined when it is gone. */
export async function lockService(
  sql: Sql,
  { orgId, serviceId }: OfService,
): Promise<Service | undefined> {
  const [row] = await sql<ServiceRow[]>`
    select ${selected(sql)}
      from registry.connected_service
     where org_id = ${orgId}
       and id = ${serviceId}
       for update
  `;
  return row && toService(row);
}

interface ToolRow {
  name: string;
  offered_hash: string | null;
  offered: string | null;
  accepted_hash: string | null;
  accepted: string | null;
  problem: string | null;
}

/** By name; a few hundred at most. */
export async function listTools(sql: Sql, { orgId, serviceId }: OfService): Promise<ServiceTool[]> {
  const rows = await sql<ToolRow[]>`
    select name, offered_hash, offered, accepted_hash, accepted, problem
      from registry.service_tool
     where org_id = ${orgId}
       and service_id = ${serviceId}
     order by name collate "C"
  `;
  return rows.map((row) => ({
    name: row.name,
    offered: toPinned(row.offered_hash, row.offered),
    accepted: toPinned(row.accepted_hash, row.accepted),
    problem: row.problem,
  }));
}

function toPinned(hash: string | null, text: string | null): Pinned | null {
  if (hash === null || text === null) return null;
  return { hash, ...(JSON.parse(text) as Omit<Pinned, 'hash'>) };
}

export async function replaceTools(
  sql: Sql,
  { orgId, serviceId, tools }: OfService & { tools: readonly ServiceTool[] },
): Promise<void> {
  await sql`
    delete from registry.service_tool
     where org_id = ${orgId}
       and service_id = ${serviceId}
  `;
  await sql`
    insert into registry.service_tool
           (id, org_id, service_id, name, offered_hash, offered, accepted_hash, accepted, problem)
    select id, ${orgId}, ${serviceId}, name, offered_hash, offered, accepted_hash, accepted, problem
      from unnest(
        ${tools.map(() => uuidv7())}::uuid[],
        ${tools.map(({ name }) => name)}::text[],
        ${tools.map(({ offered }) => offered?.hash ?? null)}::text[],
        ${tools.map(({ offered }) => textOf(offered))}::text[],
        ${tools.map(({ accepted }) => accepted?.hash ?? null)}::text[],
        ${tools.map(({ accepted }) => textOf(accepted))}::text[],
        ${tools.map(({ problem }) => problem)}::text[]
      ) as given (id, name, offered_hash, offered, accepted_hash, accepted, problem)
  `;
}

/** Text, not jsonb: the order of properties is part of what a person reads. */
function textOf(pinned: Pinned | null): string | null {
  if (pinned === null) return null;
  const { definition, tool } = pinned;
  return JSON.stringify({ definition, tool });
}

export async function findToolset(
  sql: Sql,
  { orgId, serviceId, version }: OfService & { version: number },
): Promise<{ toolset: Toolset; size: number } | undefined> {
  const [row] = await sql<{ content: string }[]>`
    select content
      from registry.toolset
     where org_id = ${orgId}
       and service_id = ${serviceId}
       and version = ${version}
  `;
  return row && { toolset: JSON.parse(row.content) as Toolset, size: row.content.length };
}

/** Calls that are under way may still ask for the versions before. */
const keptVersions = 20;

/** Makes a toolset the one that is called from now on. */
export async function insertToolset(
  sql: Sql,
  { orgId, serviceId, version, toolset }: OfService & { version: number; toolset: Toolset },
): Promise<void> {
  await sql`
    insert into registry.toolset (id, org_id, service_id, version, content)
    values (${uuidv7()}, ${orgId}, ${serviceId}, ${version}, ${JSON.stringify(toolset)})
  `;
  await sql`
    update registry.connected_service
       set toolset_version = ${version},
           updated_at = now()
     where org_id = ${orgId}
       and id = ${serviceId}
  `;
  await sql`
    delete from registry.toolset
     where org_id = ${orgId}
       and service_id = ${serviceId}
       and version <= ${version - keptVersions}
  `;
}

/** That its server was asked, and what went wrong. */
export async function noteAsked(
  sql: Sql,
  { orgId, serviceId, error }: OfService & { error: string | null },
): Promise<Date> {
  const [row] = await sql<{ tools_asked_at: Date }[]>`
    update registry.connected_service
       set tools_asked_at = now(),
           tools_error = ${error}
     where org_id = ${orgId}
       and id = ${serviceId}
    returning tools_asked_at
  `;
  return row?.tools_asked_at ?? new Date();
}

/** A service in use is asked this much after the last time, and one that says that its tools changed. */
const usedSeconds = 300;
const toldSeconds = 10;

/** Brings forward when a server is asked; never so far that one that keeps telling is asked all the time. */
export async function bringForward(
  sql: Sql,
  { orgId, serviceId, isTold }: OfService & { isTold: boolean },
): Promise<void> {
  const notBeforeSeconds = isTold ? toldSeconds : usedSeconds;
  await sql`
    update registry.connected_service
       set tools_due_at = tools_asked_at + ${notBeforeSeconds}::integer * interval '1 second'
     where org_id = ${orgId}
       and id = ${serviceId}
       and tools_due_at > tools_asked_at + ${notBeforeSeconds}::integer * interval '1 second'
  `;
}

/** Takes one service whose server is due to be asked, if nobody else is at it. */
export async function claimDueService(
  sql: Sql,
  { orgId, serviceId }: OfService,
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
    returning ${selected(sql)}
  `;
  return row && toService(row);
}

/** Takes a few services whose servers are due to be asked, of any org, so that no other replica does. */
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
    returning ${selected(sql)}
  `;
  return rows.map(toService);
}
