import type { z } from 'zod';

import type { Deadline } from '#bus';
import type { discoveredTools } from '#contracts/http/service-tools';
import type { Principal } from '#contracts/vocabulary';
import { AppError } from '#errors';
import { appendEvent } from '#events';
import type { Deps } from '../deps.ts';
import type { Service } from '../services/domain/service.ts';
import { serviceChangedEvent } from '../services/domain/service-events.ts';
import { toolStatusOf } from '../toolsets/domain/toolset.ts';
import type { ServiceTool } from '../toolsets/domain/toolset.ts';
import { askForTools } from '../toolsets/ask-for-tools.ts';
import { saveOfferedTools } from '../toolsets/save-tools.ts';
import type { SavedTools } from '../toolsets/save-tools.ts';
import { getTemplateVersion } from '../templates/get-template-version.ts';
import { lockService } from '../services/connected-service.sql.ts';
import { changedMeanwhile, getWritableService } from '../services/get-writable-service.ts';

type DiscoverReply = z.infer<typeof discoveredTools>;

/** Asks the MCP server of a service for its tools because a person requested it. */
export async function discoverServiceTools(
  deps: Deps,
  { principal, name }: { principal: string; name: string },
  deadline: Deadline,
): Promise<DiscoverReply> {
  const caller = deps.readPrincipal(principal);
  const service = await getWritableService(deps.db, caller, name);
  if (service.template.toolset === undefined) throw notAnMcpServer(service.name);
  return askAndSaveTools(deps, { service, caller }, deadline);
}

function notAnMcpServer(name: string): AppError {
  return new AppError('conflict', `The service "${name}" is no MCP server, so it has no tools.`);
}

/**
 * Asks the MCP server of a service for its tools and stores them. A null `caller` means that a
 * timer or a call of the service was the reason.
 */
export async function askAndSaveTools(
  deps: Deps,
  { service, caller }: { service: Service; caller: Principal | null },
  deadline: Deadline,
): Promise<DiscoverReply> {
  const { orgId, id: serviceId } = service;
  const template = await getTemplateVersion(deps, { orgId, template: service.template });
  const offeredTools = await askForTools(deps, { service, template }, deadline);
  const savedTools = await deps.db.transaction(async (tx): Promise<SavedTools> => {
    const lockedService = await lockService(tx, { orgId, serviceId });
    // The service was upgraded while its server was asked, and the new version may name another
    // server.
    const isSameServer =
      lockedService?.template.version === service.template.version &&
      lockedService.baseUrl === service.baseUrl;
    if (!isSameServer) throw changedMeanwhile(service.name);
    const saveResult = await saveOfferedTools(tx, lockedService, { offered: offeredTools });
    if (saveResult.changes.length > 0 || caller !== null) {
      await appendEvent(
        tx,
        serviceChangedEvent(caller, lockedService, [sentenceOf(saveResult.changes)]),
      );
    }
    return saveResult;
  });
  return {
    protocol_version: offeredTools.protocolVersion,
    asked_at: savedTools.askedAt.toISOString(),
    tools: countByStatus(savedTools.tools),
  };
}

const changesNamedMax = 10;

function sentenceOf(changes: readonly string[]): string {
  if (changes.length === 0) return 'its tools are as they were';
  const unnamedCount = changes.length - changesNamedMax;
  const namedChanges = changes.slice(0, changesNamedMax).join(', ');
  return `tools: ${namedChanges}${unnamedCount > 0 ? ` and ${unnamedCount} more` : ''}`;
}

function countByStatus(tools: readonly ServiceTool[]): DiscoverReply['tools'] {
  const countsByStatus = { available: 0, new: 0, changed: 0, gone: 0, unusable: 0 };
  for (const tool of tools) countsByStatus[toolStatusOf(tool)] += 1;
  return countsByStatus;
}
