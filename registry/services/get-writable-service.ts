import type { Principal } from '#contracts/vocabulary';
import { AppError } from '#errors';
import type { Sql } from '#database';
import { mayWriteServices } from './domain/service.ts';
import type { Service } from './domain/service.ts';
import { getServiceByName } from './get-service-by-name.ts';

/** Returns a service that the caller may change; throws `forbidden` when the caller may not. */
export async function getWritableService(
  sql: Sql,
  caller: Principal,
  name: string,
): Promise<Service> {
  const { orgId, userId } = caller;
  const service = await getServiceByName(sql, { orgId, userId, name });
  if (mayWriteServices(caller, service.tier)) return service;
  throw new AppError('forbidden', 'Only its owner changes a service; an admin one of the org.');
}

/**
 * The error for a request that has read a service which another request then changed or deleted.
 */
export function changedMeanwhile(name: string): AppError {
  return new AppError(
    'conflict',
    `The service "${name}" was changed in the meantime; look at it, and try again.`,
  );
}
