import type { Sql } from '#database';
import type { Service } from '../domain/service.ts';
import { mergeOffered, statusOf, toolsetOf } from '../domain/toolset.ts';
import type { Accepts, ServiceTool } from '../domain/toolset.ts';
import {
  findToolset,
  insertToolset,
  listTools,
  noteAsked,
  replaceTools,
} from '../repository/toolset.ts';
import type { OfferedTools } from './offered-tools.ts';
import { isSameToolset } from './same-toolset.ts';

export interface SavedTools {
  readonly tools: readonly ServiceTool[];
  readonly askedAt: Date;
  /** What somebody would want to know of it; empty when all is as it was. */
  readonly changes: readonly string[];
}

/**
 * Keeps what a server offers now. What nobody accepted stays out of use, and a tool that is not
 * what was accepted goes out of use, until somebody accepts it. To be called with the service locked.
 */
export async function saveOffered(
  tx: Sql,
  service: Pick<Service, 'orgId' | 'id' | 'template'>,
  { offered, accepts }: { offered: OfferedTools; accepts?: Accepts },
): Promise<SavedTools> {
  const at = { orgId: service.orgId, serviceId: service.id };
  const known = await listTools(tx, at);
  const tools = mergeOffered(known, offered.tools, accepts);
  await replaceTools(tx, { ...at, tools });
  await saveToolset(tx, service, { protocolVersion: offered.protocolVersion, tools });
  const askedAt = await noteAsked(tx, { ...at, error: null });
  return { tools, askedAt, changes: changesBetween(known, tools) };
}

/** A new version of the toolset, if what can be called is another than before. */
export async function saveToolset(
  tx: Sql,
  { orgId, id: serviceId, template }: Pick<Service, 'orgId' | 'id' | 'template'>,
  { protocolVersion, tools }: { protocolVersion: string | null; tools: readonly ServiceTool[] },
): Promise<void> {
  const version = template.toolset?.version ?? 0;
  const before = version === 0 ? undefined : await findToolset(tx, { orgId, serviceId, version });
  const toolset = toolsetOf(protocolVersion ?? before?.toolset.protocolVersion ?? '', tools);
  if (before !== undefined && (await isSameToolset(before.toolset, toolset))) return;
  await insertToolset(tx, { orgId, serviceId, version: version + 1, toolset });
}

function changesBetween(before: readonly ServiceTool[], after: readonly ServiceTool[]): string[] {
  const known = new Map(before.map((tool) => [tool.name, stateOf(tool)]));
  const kept = new Set(after.map(({ name }) => name));
  return [
    ...after
      .filter((tool) => known.get(tool.name) !== stateOf(tool))
      .map((tool) => `${tool.name} is ${statusOf(tool)}`),
    ...before.filter(({ name }) => !kept.has(name)).map(({ name }) => `${name} is gone`),
  ];
}

function stateOf(tool: ServiceTool): string {
  return `${statusOf(tool)} ${tool.offered?.hash ?? ''}`;
}
