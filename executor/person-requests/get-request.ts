import type { ServiceRequest } from '#contracts/http/requests';
import type { Deps } from '../deps.ts';
import { getVisibleRequest } from './get-visible-request.ts';
import { presentRequest } from './present-request.ts';

export async function getRequest(
  deps: Pick<Deps, 'db' | 'readPrincipal' | 'baseUrl'>,
  { principal, id }: { principal: string; id: string },
): Promise<ServiceRequest> {
  return presentRequest(deps, await getVisibleRequest(deps.db, deps.readPrincipal(principal), id));
}
