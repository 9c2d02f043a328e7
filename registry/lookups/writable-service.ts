import type { Principal } from '#contracts/vocabulary';
import { AppError } from '#errors';
import type { Sql } from '#database';
import { mayWriteServices } from '../domain/service.ts';
import type { Service } from '../domain/service.ts';
import { getServiceByName } from './service-by-name.ts';

/** A service that the caller may change, or `forbidden`. */
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

/** It was deleted, upgraded or changed by somebody else since it was looked at. */
export function changedSince(name: string): AppError {
  return new AppError(
    'conflict',
    `The service "${name}" was changed in the meantime; look at it, and try again.`,
  );
}
