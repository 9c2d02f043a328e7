import type { Principal } from '#contracts/vocabulary';
import type { Transaction } from '#database';
import { AppError } from '#errors';
import { appendEvent } from '#events';
import { identityOf } from '../credentials/actor.ts';
import type { Actor } from '../credentials/actor.ts';
import { countRequest } from '../limits/count-request.ts';
import { addAsker, addReader } from './asker.sql.ts';
import { findExceededLimit } from './domain/request-limits.ts';
import { expirePersonRequestsOf } from './expire-requests.ts';
import { addresseeOf } from './get-visible-request.ts';
import { findOpenSameRequest, insertRequest, lockRequestsOf } from './person-request.sql.ts';
import type { NewPersonRequest } from './person-request.sql.ts';
import type { PersonRequest } from './person-request-row.sql.ts';
import { createRaisedEvent } from './request-event.ts';
import { countRequests, findRecentDecline } from './request-limits.sql.ts';

/** The fields of the new request. The requester's fields are taken from the principal. */
export type WantedRequest = Omit<NewPersonRequest, 'orgId' | 'requester' | 'userId' | 'chainIds'>;

const askersMax = 20;

/**
 * Creates a request of any kind, within the limits, and announces it. If there is an open request
 * for the same already, the caller joins that one instead
 * (docs/reference/requests.md#request-limits).
 */
export async function raiseRequest(
  tx: Transaction,
  { by, wanted, requestsPerHour }: { by: Actor; wanted: WantedRequest; requestsPerHour: number },
): Promise<{ request: PersonRequest; isNew: boolean }> {
  const { principal } = by;
  const { orgId, userId, chain } = principal;
  const newRequest: NewPersonRequest = {
    ...wanted,
    orgId,
    userId,
    requester: identityOf(principal),
    chainIds: chain.map(({ id }) => id),
  };
  await lockRequestsOf(tx, newRequest);
  await expirePersonRequestsOf(tx, newRequest);
  const openRequest = await findOpenSameRequest(tx, newRequest);
  if (openRequest !== undefined)
    return { request: await joinRequest(tx, principal, openRequest), isNew: false };
  await requireNoDecline(tx, principal, newRequest);
  await requireBelowLimits(tx, principal);
  await countRequest(tx, principal, requestsPerHour);
  const request = await insertRequest(tx, newRequest);
  await appendEvent(tx, createRaisedEvent(by, request));
  return { request, isNew: true };
}

async function joinRequest(
  tx: Transaction,
  principal: Principal,
  openRequest: PersonRequest,
): Promise<PersonRequest> {
  const askingIdentity = identityOf(principal);
  const askers = [openRequest.requester, ...openRequest.alsoAskedBy];
  if (askers.some(({ id }) => id === askingIdentity.id)) return openRequest;
  const { orgId, id } = openRequest;
  const chainIds = principal.chain.map((link) => link.id);
  if (hasSubtreeAsked(principal, openRequest)) {
    await addReader(tx, { orgId, id, chainIds });
    return openRequest;
  }
  if (openRequest.alsoAskedBy.length >= askersMax) {
    // The user is not added as an asker but can see the request anyway, because a user sees the
    // requests of its agents.
    if (askingIdentity.kind === 'user') return openRequest;
    throw new AppError('rate_limited', 'Many others wait for the same; wait with them.', {
      details: { request_id: openRequest.id, retry_after: 600 },
    });
  }
  return addAsker(tx, { orgId, id, asker: askingIdentity, chainIds });
}

/**
 * Whether the caller's agent or one of its subagents has asked already. They count as one asker:
 * otherwise an agent could fill the list with new subagents.
 */
function hasSubtreeAsked(
  principal: Principal,
  { chainIds, askerChains }: Pick<PersonRequest, 'chainIds' | 'askerChains'>,
): boolean {
  if (principal.kind === 'user') return false;
  const subtreeId = subtreeIdOf(principal);
  return [chainIds, ...askerChains].some((chain) => chain.includes(subtreeId));
}

/** The agent that the caller is or belongs to. */
function subtreeIdOf({ chain, identityId }: Principal): string {
  return chain.findLast((link) => link.kind === 'agent')?.id ?? identityId;
}

/**
 * A decline applies to all agents of the user. The user itself may ask again after its own decline.
 */
async function requireNoDecline(
  tx: Transaction,
  { kind }: Principal,
  wanted: NewPersonRequest,
): Promise<void> {
  if (kind === 'user' && wanted.tier === 'user') return;
  const declined = await findRecentDecline(tx, wanted);
  if (declined === undefined) return;
  const { request, retryAfterSeconds } = declined;
  const reason =
    request.declineReason === null ? '' : `, and said: ${request.declineReason.replace(/\.$/, '')}`;
  throw new AppError(
    'conflict',
    `${request.decidedBy?.name ?? 'Somebody'} declined this within the last day${reason}. Do without, or ask ${addresseeOf(request)} directly.`,
    {
      details: {
        reason: 'declined',
        request_id: request.id,
        decline_reason: request.declineReason,
        retry_after: retryAfterSeconds,
      },
    },
  );
}

async function requireBelowLimits(tx: Transaction, principal: Principal): Promise<void> {
  const { orgId, userId, identityId, kind } = principal;
  // The agent and its subagents have one share: otherwise an agent could create new subagents to
  // make more requests.
  const subtreeId = subtreeIdOf(principal);
  const counts = await countRequests(tx, { orgId, userId, requesterId: identityId, subtreeId });
  const exceededLimit = findExceededLimit(counts, { isUser: kind === 'user' });
  if (exceededLimit === null) return;
  throw new AppError('rate_limited', exceededLimit.message, {
    details: { retry_after: exceededLimit.retryAfterSeconds },
  });
}
