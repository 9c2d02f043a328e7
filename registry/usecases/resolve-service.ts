import type { ServiceRecord } from '#contracts/bus/registry';
import type { Deps } from '../deps.ts';
import { recordOf } from '../domain/service.ts';
import { getServiceByName } from '../lookups/service-by-name.ts';

/** The service a call means, for policy and executor. */
export async function resolveService(
  { db }: Pick<Deps, 'db'>,
  request: { orgId: string; userId: string; name: string },
): Promise<ServiceRecord> {
  return recordOf(await getServiceByName(db, request));
}
