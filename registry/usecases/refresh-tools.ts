import { deadlineIn } from '#bus';
import type { Deadline } from '#bus';
import { AppError } from '#errors';
import type { Deps } from '../deps.ts';
import type { Service } from '../domain/service.ts';
import {
  bringForward,
  claimDueService,
  claimDueServices,
  noteAsked,
} from '../repository/toolset.ts';
import { askAgain } from './discover-service-tools.ts';

/** At a time, by one replica: a slow server must not keep the others waiting for long. */
const servicesAtOnce = 5;
/** For as long as servers answer quickly; the rest at the next turn. */
const turnMs = 5_000;
const askMs = 25_000;

/** Asks servers that are due: those not asked for an hour, or that were brought forward. What fails is noted, and tried again later. */
export async function refreshTools(deps: Deps): Promise<void> {
  const endsAt = performance.now() + turnMs;
  do {
    const services = await claimDueServices(deps.db, { limit: servicesAtOnce });
    await Promise.all(services.map((service) => ask(deps, service, deadlineIn(askMs))));
    if (services.length < servicesAtOnce) return;
  } while (performance.now() < endsAt);
}

/**
 * A call has used the tools of a service: asks its server now, if that is due. With `isTold` the server
 * said or showed that they changed. A change is kept as always: nothing of it is used before it is accepted.
 */
export async function followTools(
  deps: Deps,
  { orgId, serviceId, isTold }: { orgId: string; serviceId: string; isTold: boolean },
  deadline: Deadline,
): Promise<Record<string, never>> {
  await bringForward(deps.db, { orgId, serviceId, isTold });
  const service = await claimDueService(deps.db, { orgId, serviceId });
  if (service !== undefined) await ask(deps, service, deadline);
  return {};
}

async function ask(deps: Deps, service: Service, deadline: Deadline): Promise<void> {
  try {
    await askAgain(deps, { service, caller: null }, deadline);
  } catch (thrown) {
    const { code } = AppError.from(thrown);
    const { orgId, id: serviceId } = service;
    deps.logger.warn({ err: thrown, serviceId }, 'tools could not be asked for');
    await noteAsked(deps.db, { orgId, serviceId, error: code });
  }
}
