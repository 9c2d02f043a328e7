import type { TemplateReference } from '#contracts/call';
import type { Sql } from '#database';
import { mergeOfferedTools, toolStatusOf, toolsetOf } from './domain/toolset.ts';
import type { AcceptsTool, ServiceTool } from './domain/toolset.ts';
import {
  findToolset,
  insertToolset,
  listTools,
  recordToolRequest,
  replaceTools,
} from './toolset.sql.ts';
import type { OfferedTools } from './ask-for-tools.ts';
import { isSameToolset } from './same-toolset.ts';

interface LockedService {
  readonly orgId: string;
  readonly id: string;
  readonly template: TemplateReference;
}

export interface SavedTools {
  readonly tools: readonly ServiceTool[];
  readonly askedAt: Date;
  /** The changes in words for the audit log; empty when no tool changed. */
  readonly changes: readonly string[];
}

/**
 * Stores the tools that an MCP server offers now. A tool that no person has accepted cannot be
 * called. A tool that differs from its accepted definition cannot be called until a person accepts
 * the new one. The caller must hold the lock on the service.
 */
export async function saveOfferedTools(
  tx: Sql,
  service: LockedService,
  { offered, accepts }: { offered: OfferedTools; accepts?: AcceptsTool },
): Promise<SavedTools> {
  const serviceKey = { orgId: service.orgId, serviceId: service.id };
  const knownTools = await listTools(tx, serviceKey);
  const tools = mergeOfferedTools(knownTools, offered.tools, accepts);
  await replaceTools(tx, { ...serviceKey, tools });
  await saveToolset(tx, service, { protocolVersion: offered.protocolVersion, tools });
  const askedAt = await recordToolRequest(tx, { ...serviceKey, error: null });
  return { tools, askedAt, changes: describeChangesBetween(knownTools, tools) };
}

/** Stores a new version of the toolset if the tools that may be called have changed. */
export async function saveToolset(
  tx: Sql,
  { orgId, id: serviceId, template }: LockedService,
  { protocolVersion, tools }: { protocolVersion: string | null; tools: readonly ServiceTool[] },
): Promise<void> {
  const version = template.toolset?.version ?? 0;
  const toolsetBefore =
    version === 0 ? undefined : await findToolset(tx, { orgId, serviceId, version });
  const toolset = toolsetOf(protocolVersion ?? toolsetBefore?.toolset.protocolVersion ?? '', tools);
  if (toolsetBefore !== undefined && (await isSameToolset(toolsetBefore.toolset, toolset))) return;
  await insertToolset(tx, { orgId, serviceId, version: version + 1, toolset });
}

function describeChangesBetween(
  toolsBefore: readonly ServiceTool[],
  toolsAfter: readonly ServiceTool[],
): string[] {
  const statesBefore = new Map(toolsBefore.map((tool) => [tool.name, describeState(tool)]));
  const keptNames = new Set(toolsAfter.map(({ name }) => name));
  return [
    ...toolsAfter
      .filter((tool) => statesBefore.get(tool.name) !== describeState(tool))
      .map((tool) => `${tool.name} is ${toolStatusOf(tool)}`),
    ...toolsBefore.filter(({ name }) => !keptNames.has(name)).map(({ name }) => `${name} is gone`),
  ];
}

function describeState(tool: ServiceTool): string {
  return `${toolStatusOf(tool)} ${tool.offered?.hash ?? ''}`;
}
