import type { Database } from '#database';
import { appendEvent } from '#events';
import { lockOpenRequest, replaceRequester } from './asker.sql.ts';
import type { PersonRequest } from './person-request-row.sql.ts';
import { createPassedOnEvent } from './request-event.ts';
import { settleInTransaction } from './settle-request.ts';
import type { Closer } from './settle-request.ts';

/**
 * Takes the requester's part of a request back. The request stays open for the next identity that
 * asked for the same. If all of those are in `leavingIds`, the request is cancelled. Undefined when
 * the request was closed before.
 */
export async function withdrawRequest(
  db: Database,
  closer: Closer,
  {
    request: { orgId, id, requester },
    leavingIds,
  }: { request: PersonRequest; leavingIds: readonly string[] },
): Promise<PersonRequest | undefined> {
  return db.transaction(async (tx) => {
    const request = await lockOpenRequest(tx, { orgId, id });
    // Somebody else took the requester's part back at the same time, so there is nothing left to
    // do.
    if (request === undefined || request.requester.id !== requester.id) return request;
    const next = request.alsoAskedBy.find((asker) => !leavingIds.includes(asker.id));
    if (next === undefined)
      return settleInTransaction(tx, closer, { request, status: 'cancelled' });
    const openRequest = await replaceRequester(tx, request, { next, leavingIds });
    await appendEvent(
      tx,
      createPassedOnEvent(closer.audit, { from: requester, request: openRequest }),
    );
    return openRequest;
  });
}
