import type { z } from 'zod';

import type { Deadline } from '#bus';
import type { discoveredTools } from '#contracts/http/service-tools';
import type { Principal } from '#contracts/vocabulary';
import { AppError } from '#errors';
import { appendEvent } from '#events';
import type { Deps } from '../deps.ts';
import type { Service } from '../domain/service.ts';
import { serviceChanged } from '../domain/service-events.ts';
import { statusOf } from '../domain/toolset.ts';
import type { ServiceTool } from '../domain/toolset.ts';
import { askForTools } from '../lookups/offered-tools.ts';
import { saveOffered } from '../lookups/save-tools.ts';
import type { SavedTools } from '../lookups/save-tools.ts';
import { getTemplateVersion } from '../lookups/template-version.ts';
import { changedSince, getWritableService } from '../lookups/writable-service.ts';
import { lockService } from '../repository/toolset.ts';

type Discovered = z.infer<typeof discoveredTools>;

/** Asks the server behind a service for its tools, because somebody wants to know now. */
export async function discoverServiceTools(
  deps: Deps,
  { principal, name }: { principal: string; name: string },
  deadline: Deadline,
): Promise<Discovered> {
  const caller = deps.readPrincipal(principal);
  const service = await getWritableService(deps.db, caller, name);
  if (service.template.toolset === undefined) throw noServer(service.name);
  return askAgain(deps, { service, caller }, deadline);
}

function noServer(name: string): AppError {
  return new AppError('conflict', `The service "${name}" is no MCP server, so it has no tools.`);
}

/** Asks, and keeps what was found. Without a caller it is the clock that asks. */
export async function askAgain(
  deps: Deps,
  { service, caller }: { service: Service; caller: Principal | null },
  deadline: Deadline,
): Promise<Discovered> {
  const { orgId, id: serviceId } = service;
  const template = await getTemplateVersion(deps, { orgId, template: service.template });
  const offered = await askForTools(deps, { service, template }, deadline);
  const saved = await deps.db.transaction(async (tx): Promise<SavedTools> => {
    const locked = await lockService(tx, { orgId, serviceId });
    // Another version of the template may stand for another server.
    const isSame =
      locked?.template.version === service.template.version && locked.baseUrl === service.baseUrl;
    if (!isSame) throw changedSince(service.name);
    const result = await saveOffered(tx, locked, { offered });
    if (result.changes.length > 0 || caller !== null) {
      await appendEvent(tx, serviceChanged(caller, locked, [sentenceOf(result.changes)]));
    }
    return result;
  });
  return {
    protocol_version: offered.protocolVersion,
    asked_at: saved.askedAt.toISOString(),
    tools: countByStatus(saved.tools),
  };
}

const namedMax = 10;

function sentenceOf(changes: readonly string[]): string {
  if (changes.length === 0) return 'its tools are as they were';
  const others = changes.length - namedMax;
  const named = changes.slice(0, namedMax).join(', ');
  return `tools: ${named}${others > 0 ? ` and ${others} more` : ''}`;
}

function countByStatus(tools: readonly ServiceTool[]): Discovered['tools'] {
  const counts = { available: 0, new: 0, changed: 0, gone: 0, unusable: 0 };
  for (const tool of tools) counts[statusOf(tool)] += 1;
  return counts;
}
