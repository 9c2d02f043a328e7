import { v7 as uuidv7 } from 'uuid';

import type { Sql } from '#database';
import type { PinnedTool, ServiceTool, Toolset } from './domain/toolset.ts';

interface ServiceKey {
  readonly orgId: string;
  readonly serviceId: string;
}

interface ToolRow {
  name: string;
  offered_hash: string | null;
  offered: string | null;
  accepted_hash: string | null;
  accepted: string | null;
  problem: string | null;
}

/** Lists the tools of a service in order of names. A service has a few hundred tools at most. */
export async function listTools(
  sql: Sql,
  { orgId, serviceId }: ServiceKey,
): Promise<ServiceTool[]> {
  const rows = await sql<ToolRow[]>`
    select name, offered_hash, offered, accepted_hash, accepted, problem
      from registry.service_tool
     where org_id = ${orgId}
       and service_id = ${serviceId}
     order by name collate "C"
  `;
  return rows.map((row) => ({
    name: row.name,
    offered: toPinnedTool(row.offered_hash, row.offered),
    accepted: toPinnedTool(row.accepted_hash, row.accepted),
    problem: row.problem,
  }));
}

function toPinnedTool(hash: string | null, text: string | null): PinnedTool | null {
  if (hash === null || text === null) return null;
  return { hash, ...(JSON.parse(text) as Omit<PinnedTool, 'hash'>) };
}

export async function replaceTools(
  sql: Sql,
  { orgId, serviceId, tools }: ServiceKey & { tools: readonly ServiceTool[] },
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
        ${tools.map(({ offered }) => definitionTextOf(offered))}::text[],
        ${tools.map(({ accepted }) => accepted?.hash ?? null)}::text[],
        ${tools.map(({ accepted }) => definitionTextOf(accepted))}::text[],
        ${tools.map(({ problem }) => problem)}::text[]
      ) as given (id, name, offered_hash, offered, accepted_hash, accepted, problem)
  `;
}

/**
 * The definition as text. Its column is not jsonb, which would reorder the properties that people
 * read.
 */
function definitionTextOf(pinned: PinnedTool | null): string | null {
  if (pinned === null) return null;
  const { definition, tool } = pinned;
  return JSON.stringify({ definition, tool });
}

export async function findToolset(
  sql: Sql,
  { orgId, serviceId, version }: ServiceKey & { version: number },
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

/**
 * How many versions of a toolset are kept, because running calls may still use an earlier version.
 */
const versionsKeptMax = 20;

/** Stores a toolset and makes it the current toolset of the service. */
export async function insertToolset(
  sql: Sql,
  { orgId, serviceId, version, toolset }: ServiceKey & { version: number; toolset: Toolset },
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
       and version <= ${version - versionsKeptMax}
  `;
}

/** Records that the MCP server was asked for its tools, and the error code if that failed. */
export async function recordToolRequest(
  sql: Sql,
  { orgId, serviceId, error }: ServiceKey & { error: string | null },
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
