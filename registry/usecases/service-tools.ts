import type { z } from 'zod';

import type { serviceTool, serviceToolDetail } from '#contracts/http/service-tools';
import type { CompiledTemplate } from '#contracts/template';
import type { Principal } from '#contracts/vocabulary';
import { pageOf, parseSingleCursor, positions } from '#database';
import type { Page, PageRequest } from '#database';
import { AppError } from '#errors';
import { appendEvent } from '#events';
import type { Deps } from '../deps.ts';
import { presentTool, presentToolDetail } from '../domain/present-tool.ts';
import type { Service } from '../domain/service.ts';
import { serviceChanged } from '../domain/service-events.ts';
import type { ServiceTool } from '../domain/toolset.ts';
import { saveToolset } from '../lookups/save-tools.ts';
import { getServiceByName } from '../lookups/service-by-name.ts';
import { getTemplateVersion } from '../lookups/template-version.ts';
import { changedSince, getWritableService } from '../lookups/writable-service.ts';
import { listTools, lockService, replaceTools } from '../repository/toolset.ts';

type Reader = Pick<Deps, 'db' | 'catalog' | 'readPrincipal'>;
type Detail = z.infer<typeof serviceToolDetail>;

interface OneTool {
  readonly principal: string;
  readonly name: string;
  readonly tool: string;
}

/** The tools of a service by name; of one that is no MCP server there are none. */
export async function listServiceTools(
  deps: Reader,
  { principal, name, page }: { principal: string; name: string; page: PageRequest },
): Promise<Page<z.infer<typeof serviceTool>>> {
  const { service, template } = await getReadable(deps, deps.readPrincipal(principal), name);
  const after = parseSingleCursor(page.cursor, positions.text);
  const tools = await listTools(deps.db, { orgId: service.orgId, serviceId: service.id });
  const rest = after === null ? tools : tools.filter((tool) => tool.name > after);
  const { items, next_cursor } = pageOf(rest, page.limit, (tool) => [tool.name]);
  return { items: items.map((tool) => presentTool(tool, template)), next_cursor };
}

export async function getServiceTool(
  deps: Reader,
  { principal, name, tool }: OneTool,
): Promise<Detail> {
  const { service, template } = await getReadable(deps, deps.readPrincipal(principal), name);
  const tools = await listTools(deps.db, { orgId: service.orgId, serviceId: service.id });
  return presentToolDetail(find(tools, tool), template);
}

/** A person has read what a tool says it does: from now on it may be called as it is. */
export async function acceptServiceTool(
  deps: Reader,
  { principal, name, tool, hash }: OneTool & { hash: string },
): Promise<Detail> {
  const caller = deps.readPrincipal(principal);
  const service = await getWritableService(deps.db, caller, name);
  const { orgId, id: serviceId } = service;
  const template = await getTemplateVersion(deps, { orgId, template: service.template });
  const accepted = await deps.db.transaction(async (tx) => {
    const locked = await lockService(tx, { orgId, serviceId });
    if (locked === undefined) throw changedSince(name);
    const tools = await listTools(tx, { orgId, serviceId });
    const taken = accept(find(tools, tool), hash);
    const after = tools.map((each) => (each.name === tool ? taken : each));
    await replaceTools(tx, { orgId, serviceId, tools: after });
    await saveToolset(tx, locked, { protocolVersion: null, tools: after });
    await appendEvent(tx, serviceChanged(caller, locked, [`accepted the tool ${tool}`]));
    return taken;
  });
  return presentToolDetail(accepted, template);
}

function accept(tool: ServiceTool, hash: string): ServiceTool {
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

function find(tools: readonly ServiceTool[], name: string): ServiceTool {
  const found = tools.find((tool) => tool.name === name);
  if (found !== undefined) return found;
  throw new AppError('not_found', 'The service has no such tool; list them first.');
}

async function getReadable(
  deps: Reader,
  { orgId, userId }: Principal,
  name: string,
): Promise<{ service: Service; template: CompiledTemplate }> {
  const service = await getServiceByName(deps.db, { orgId, userId, name });
  const template = await getTemplateVersion(deps, { orgId, template: service.template });
  return { service, template };
}
