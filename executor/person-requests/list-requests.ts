import type { RequestStatus, ServiceRequest } from '#contracts/http/requests';
import { pageOf, parseSingleCursor, positions } from '#database';
import type { Page, PageRequest } from '#database';
import type { Deps } from '../deps.ts';
import { listRequests as listStoredRequests } from './person-request.sql.ts';
import { presentRequest } from './present-request.ts';

/** Lists the requests of the caller's chain; admins and auditors see all of the org. */
export async function listRequests(
  deps: Pick<Deps, 'db' | 'readPrincipal' | 'baseUrl'>,
  {
    principal,
    page,
    status,
  }: { principal: string; page: PageRequest; status: RequestStatus | null },
): Promise<Page<ServiceRequest>> {
  const { orgId, kind, role, identityId } = deps.readPrincipal(principal);
  const seesAll = kind === 'user' && (role === 'admin' || role === 'auditor');
  const requests = await listStoredRequests(deps.db, {
    orgId,
    identityId: seesAll ? null : identityId,
    status,
    limit: page.limit + 1,
    before: parseSingleCursor(page.cursor, positions.id),
  });
  const { items, next_cursor } = pageOf(requests, page.limit, ({ id }) => [id]);
  return { items: items.map((each) => presentRequest(deps, each)), next_cursor };
}
