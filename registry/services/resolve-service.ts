import type { ServiceRecord } from '#contracts/bus/registry';
import type { Deps } from '../deps.ts';
import { serviceRecordOf } from './domain/service.ts';
import { getServiceByName } from './get-service-by-name.ts';

/** Finds the service that a call names. Policy and executor use this. */
export async function resolveService(
  { db }: Pick<Deps, 'db'>,
  request: { orgId: string; userId: string; name: string },
): Promise<ServiceRecord> {
  return serviceRecordOf(await getServiceByName(db, request));
}
