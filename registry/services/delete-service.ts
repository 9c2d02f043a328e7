import { AppError } from '#errors';
import { appendEvent } from '#events';
import type { Deps } from '../deps.ts';
import { mayWriteServices } from './domain/service.ts';
import { serviceDeletedEvent } from './domain/service-events.ts';
import { getServiceByName } from './get-service-by-name.ts';
import * as services from './connected-service.sql.ts';

/** Disconnects a service. Its secrets are not deleted, and may still go to the same hosts. */
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
    await appendEvent(tx, serviceDeletedEvent(caller, service));
  });
  return {};
}
