import { AppError } from '#errors';
import { appendEvent } from '#events';
import type { Deps } from '../deps.ts';
import { mayWriteServices } from '../domain/service.ts';
import { serviceDeleted } from '../domain/service-events.ts';
import { getServiceByName } from '../lookups/service-by-name.ts';
import * as services from '../repository/connected-service.ts';

/** Disconnects a service. Its secrets stay, with the hosts they may go to. */
export async function deleteService(
  { db, readPrincipal }: Pick<Deps, 'db' | 'readPrincipal'>,
  { principal, name }: { principal: string; name: string },
): Promise<Record<string, never>> {
  const caller = readPrincipal(principal);
  const { orgId, userId } = caller;
  const service = await getServiceByName(db, { orgId, userId, name });
  if (!mayWriteServices(caller, service.tier)) {
    throw new AppError(
      'forbidden',
      'Only its owner disconnects a service; an admin one of the org.',
    );
  }
  await db.transaction(async (tx) => {
    if (!(await services.deleteService(tx, { orgId, id: service.id }))) {
      throw new AppError('unknown_service', `"${name}" is gone.`);
    }
    await appendEvent(tx, serviceDeleted(caller, service));
  });
  return {};
}
