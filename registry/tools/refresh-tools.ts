import { deadlineIn } from '#bus';
import type { Deadline } from '#bus';
import { AppError } from '#errors';
import type { Deps } from '../deps.ts';
import type { Service } from '../services/domain/service.ts';
import { recordToolRequest } from '../toolsets/toolset.sql.ts';
import { bringForwardToolRequest, claimDueService, claimDueServices } from './due-tools.sql.ts';
import { askAndSaveTools } from './discover-tools.ts';

/** One replica asks several servers at once, so that a slow server delays the others less. */
const servicesAtOnceMax = 5;
/** A run claims no more servers after this time; the next run asks those that remain. */
const runMs = 5_000;
const askTimeoutMs = 25_000;

/**
 * Asks the MCP servers that are due for their tools. A server is due an hour after the last
 * request, or earlier when its service is used. A failure is recorded, and the server is asked
 * again later.
 */
export async function refreshTools(deps: Deps): Promise<void> {
  const endsAt = performance.now() + runMs;
  do {
    const services = await claimDueServices(deps.db, { limit: servicesAtOnceMax });
    await Promise.all(
      services.map((service) => askForToolsOf(deps, service, deadlineIn(askTimeoutMs))),
    );
    if (services.length < servicesAtOnceMax) return;
  } while (performance.now() < endsAt);
}

/**
 * Called when the tools of a service were used: asks the MCP server now if it is due. `isTold`
 * means that the server reported or showed a change. A changed tool is not used until a person
 * accepts it.
 */
export async function followTools(
  deps: Deps,
  { orgId, serviceId, isTold }: { orgId: string; serviceId: string; isTold: boolean },
  deadline: Deadline,
): Promise<Record<string, never>> {
  await bringForwardToolRequest(deps.db, { orgId, serviceId, isTold });
  const service = await claimDueService(deps.db, { orgId, serviceId });
  if (service !== undefined) await askForToolsOf(deps, service, deadline);
  return {};
}

async function askForToolsOf(deps: Deps, service: Service, deadline: Deadline): Promise<void> {
  try {
    await askAndSaveTools(deps, { service, caller: null }, deadline);
  } catch (error) {
    const { code } = AppError.from(error);
    const { orgId, id: serviceId } = service;
    deps.logger.warn({ err: error, serviceId }, 'tools could not be asked for');
    await recordToolRequest(deps.db, { orgId, serviceId, error: code });
  }
}
