import type { ServiceRequest } from '#contracts/http/requests';
import type { CallContext } from '#contracts/vocabulary';
import { AppError } from '#errors';
import type { Deps } from '../deps.ts';
import { mayCancelRequest } from './domain/request-rights.ts';
import { getVisibleRequest } from './get-visible-request.ts';
import { presentRequest } from './present-request.ts';
import { closedMeanwhileError, closerOf, settleRequest } from './settle-request.ts';
import { withdrawRequest } from './withdraw-request.ts';

/**
 * Takes a request back. If others have asked for the same, an agent takes back only its own part:
 * the request stays open for the others, who would not learn that they have to ask again.
 */
export async function cancelRequest(
  deps: Pick<Deps, 'db' | 'readPrincipal' | 'baseUrl'>,
  { principal: signed, id, context }: { principal: string; id: string; context: CallContext },
): Promise<ServiceRequest> {
  const principal = deps.readPrincipal(signed);
  const request = await getVisibleRequest(deps.db, principal, id);
  if (!mayCancelRequest(principal, request)) {
    throw new AppError(
      'forbidden',
      'Only its requester, an ancestor of the requester, or an admin takes a request back.',
    );
  }
  const by = { principal, context };
  if (principal.kind === 'user') {
    return presentRequest(deps, await settleRequest(deps.db, by, { request, status: 'cancelled' }));
  }
  const withdrawn = await withdrawRequest(deps.db, closerOf(by), { request, leavingIds: [] });
  if (withdrawn === undefined) throw await closedMeanwhileError(deps.db, request);
  return presentRequest(deps, withdrawn);
}
