import type { z } from 'zod';

import type { serviceTool, serviceToolDetail } from '#contracts/http/service-tools';
import type { CompiledTemplate } from '#contracts/template';
import type { Principal } from '#contracts/vocabulary';
import { pageOf, parseSingleCursor, positions } from '#database';
import type { Page, PageRequest } from '#database';
import { AppError } from '#errors';
import { appendEvent } from '#events';
import type { Deps } from '../deps.ts';
import { presentTool, presentToolDetail } from './domain/present-tool.ts';
import type { Service } from '../services/domain/service.ts';
import { serviceChangedEvent } from '../services/domain/service-events.ts';
import type { ServiceTool } from '../toolsets/domain/toolset.ts';
import { saveToolset } from '../toolsets/save-tools.ts';
import { getServiceByName } from '../services/get-service-by-name.ts';
import { getTemplateVersion } from '../templates/get-template-version.ts';
import { changedMeanwhile, getWritableService } from '../services/get-writable-service.ts';
import { lockService } from '../services/connected-service.sql.ts';
import { listTools, replaceTools } from '../toolsets/toolset.sql.ts';

type ToolReader = Pick<Deps, 'db' | 'catalog' | 'readPrincipal'>;
type ToolDetail = z.infer<typeof serviceToolDetail>;

interface ToolRequest {
  readonly principal: string;
  readonly name: string;
  readonly tool: string;
}

/** Lists the tools of a service in order of names; empty when the service is not an MCP server. */
export async function listServiceTools(
  deps: ToolReader,
  { principal, name, page }: { principal: string; name: string; page: PageRequest },
): Promise<Page<z.infer<typeof serviceTool>>> {
  const { service, template } = await getReadableService(deps, deps.readPrincipal(principal), name);
  const after = parseSingleCursor(page.cursor, positions.text);
  const tools = await listTools(deps.db, { orgId: service.orgId, serviceId: service.id });
  const remainingTools = after === null ? tools : tools.filter((tool) => tool.name > after);
  const { items, next_cursor } = pageOf(remainingTools, page.limit, (tool) => [tool.name]);
  return { items: items.map((tool) => presentTool(tool, template)), next_cursor };
}

export async function getServiceTool(
  deps: ToolReader,
  { principal, name, tool }: ToolRequest,
): Promise<ToolDetail> {
  const { service, template } = await getReadableService(deps, deps.readPrincipal(principal), name);
  const tools = await listTools(deps.db, { orgId: service.orgId, serviceId: service.id });
  return presentToolDetail(findTool(tools, tool), template);
}

/** Accepts the definition of a tool that a person has read. From now on calls may use the tool. */
export async function acceptServiceTool(
  deps: ToolReader,
  { principal, name, tool, hash }: ToolRequest & { hash: string },
): Promise<ToolDetail> {
  const caller = deps.readPrincipal(principal);
  const service = await getWritableService(deps.db, caller, name);
  const { orgId, id: serviceId } = service;
  const template = await getTemplateVersion(deps, { orgId, template: service.template });
  const acceptedTool = await deps.db.transaction(async (tx) => {
    const lockedService = await lockService(tx, { orgId, serviceId });
    if (lockedService === undefined) throw changedMeanwhile(name);
    const tools = await listTools(tx, { orgId, serviceId });
    const acceptResult = acceptOfferedTool(findTool(tools, tool), hash);
    const after = tools.map((each) => (each.name === tool ? acceptResult : each));
    await replaceTools(tx, { orgId, serviceId, tools: after });
    await saveToolset(tx, lockedService, { protocolVersion: null, tools: after });
    await appendEvent(
      tx,
      serviceChangedEvent(caller, lockedService, [`accepted the tool ${tool}`]),
    );
    return acceptResult;
  });
  return presentToolDetail(acceptedTool, template);
}

function acceptOfferedTool(tool: ServiceTool, hash: string): ServiceTool {
  const { offered, problem } = tool;
  if (offered === null || offered.hash !== hash) {
    const message = `The tool "${tool.name}" is not what you looked at any more; look again.`;
    throw new AppError('conflict', message, { details: { hash: offered?.hash ?? null } });
  }
  if (problem !== null) {
    throw new AppError('conflict', `The tool "${tool.name}" cannot be used. ${problem}`);
  }
  return { ...tool, accepted: offered };
}

function findTool(tools: readonly ServiceTool[], name: string): ServiceTool {
  const matchingTool = tools.find((tool) => tool.name === name);
  if (matchingTool !== undefined) return matchingTool;
  throw new AppError('not_found', 'The service has no such tool; list them first.');
}

async function getReadableService(
  deps: ToolReader,
  { orgId, userId }: Principal,
  name: string,
): Promise<{ service: Service; template: CompiledTemplate }> {
  const service = await getServiceByName(deps.db, { orgId, userId, name });
  const template = await getTemplateVersion(deps, { orgId, template: service.template });
  return { service, template };
}
