import { deadlineIn } from '#bus';
import { AppError } from '#errors';
import type { Deps } from '../deps.ts';
import { claimUnaskedServices, noteAsked } from '../repository/toolset.ts';
import { askAgain } from './discover-service-tools.ts';

const olderThanMs = 60 * 60_000;
/** At a time, by one replica: a slow server must not keep the others waiting for long. */
const servicesAtOnce = 5;
const askMs = 25_000;

/** Asks servers that were not asked for an hour; what fails is noted, and tried again an hour later. */
export async function refreshTools(deps: Deps): Promise<void> {
  const services = await claimUnaskedServices(deps.db, { olderThanMs, limit: servicesAtOnce });
  await Promise.all(
    services.map(async (service) => {
      try {
        await askAgain(deps, { service, caller: null }, deadlineIn(askMs));
      } catch (thrown) {
        const { code } = AppError.from(thrown);
        const { orgId, id: serviceId } = service;
        deps.logger.warn({ err: thrown, serviceId }, 'tools could not be asked for');
        await noteAsked(deps.db, { orgId, serviceId, error: code });
      }
    }),
  );
}
