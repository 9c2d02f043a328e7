import type { z } from 'zod';

import type { declineRequestBody, ServiceRequest } from '#contracts/http/requests';
import type { CallContext } from '#contracts/vocabulary';
import { AppError } from '#errors';
import type { Deps } from '../deps.ts';
import { mayAnswerRequest } from './domain/request-rights.ts';
import { addresseeOf, getVisibleRequest } from './get-visible-request.ts';
import { presentRequest } from './present-request.ts';
import { requirePlainText } from './domain/plain-text.ts';
import { listOpenRequestsLike, lockRequestsOf } from './person-request.sql.ts';
import { closedMeanwhileError, closerOf, settleInTransaction } from './settle-request.ts';

interface DeclineFields {
  readonly principal: string;
  readonly id: string;
  readonly body: z.infer<typeof declineRequestBody>;
  readonly context: CallContext;
}

/**
 * Declines a request. For a day after that, no agent of the requester's user can ask for the same
 * template. Open requests for the template under other names are declined too.
 */
export async function declineRequest(
  deps: Pick<Deps, 'db' | 'readPrincipal' | 'baseUrl'>,
  { principal: signed, id, body, context }: DeclineFields,
): Promise<ServiceRequest> {
  const principal = deps.readPrincipal(signed);
  const request = await getVisibleRequest(deps.db, principal, id);
  if (!mayAnswerRequest(principal, request)) {
    throw new AppError('forbidden', `Only ${addresseeOf(request)} can decline this request.`);
  }
  requirePlainText('reason', body.reason);
  const closer = closerOf({ principal, context });
  const closing = { status: 'declined', declineReason: body.reason ?? null } as const;
  const closed = await deps.db.transaction(async (tx) => {
    // A concurrent request either finds the declined one, or is declined together with the others.
    await lockRequestsOf(tx, request);
    const declined = await settleInTransaction(tx, closer, { request, ...closing });
    if (declined === undefined) return undefined;
    for (const other of await listOpenRequestsLike(tx, request)) {
      await settleInTransaction(tx, closer, { request: other, ...closing });
    }
    return declined;
  });
  if (closed === undefined) throw await closedMeanwhileError(deps.db, request);
  return presentRequest(deps, closed);
}
