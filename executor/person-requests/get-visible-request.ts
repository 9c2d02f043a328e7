import type { Principal } from '#contracts/vocabulary';
import type { Sql } from '#database';
import { AppError } from '#errors';
import { maySeeRequest } from './domain/request-rights.ts';
import { findRequest } from './person-request.sql.ts';
import type { PersonRequest } from './person-request-row.sql.ts';

/**
 * Returns a request to a caller that may see it. Another person of the org, who may have been sent
 * the link, learns whom it is for and nothing else.
 */
export async function getVisibleRequest(
  sql: Sql,
  caller: Principal,
  id: string,
): Promise<PersonRequest> {
  const request = await findRequest(sql, { orgId: caller.orgId, id });
  if (request !== undefined && maySeeRequest(caller, request)) return request;
  if (request === undefined || caller.kind !== 'user' || caller.role === null) {
    throw new AppError('not_found', 'There is no such request among yours.');
  }
  const addresseeWords = addresseeOf(request);
  throw new AppError(
    'not_in_your_chain',
    `This request is for ${addresseeWords}; only they can answer it.`,
    {
      details: { for: addresseeWords },
    },
  );
}

/** Whom the request is for: the requester's user by name, or the org's admins. */
export function addresseeOf({ tier, requester }: PersonRequest): string {
  return tier === 'org' ? 'an admin of the org' : (requester.path[0] ?? 'another person');
}

export function alreadyClosedError({ status }: PersonRequest): AppError {
  if (status === 'expired') {
    return new AppError('expired', 'The request has expired; ask again if it is still needed.');
  }
  return new AppError('conflict', `The request is closed already: it is ${status}.`, {
    details: { status },
  });
}
