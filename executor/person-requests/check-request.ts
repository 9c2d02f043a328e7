import { deadlineIn } from '#bus';
import type { Tier } from '#contracts/vocabulary';
import { AppError } from '#errors';
import type { Deps } from '../deps.ts';
import { cancelRequestsOf } from './cancel-requests-of.ts';
import { mayAnswerRequest } from './domain/request-rights.ts';
import { addresseeOf, alreadyClosedError, getVisibleRequest } from './get-visible-request.ts';
import { findRequest } from './person-request.sql.ts';
import type { PersonRequest } from './person-request-row.sql.ts';

interface CheckFields {
  readonly principal: string;
  readonly id: string;
  readonly template: string;
  readonly tier: Tier;
}

/**
 * Throws unless the caller may answer this request by connecting a service of this template and
 * tier. The name may differ: the person decides the name of the service.
 */
export async function checkRequest(
  deps: Pick<Deps, 'db' | 'readPrincipal' | 'owners'>,
  { principal: signed, id, template, tier }: CheckFields,
): Promise<Record<string, never>> {
  const principal = deps.readPrincipal(signed);
  const request = await getVisibleRequest(deps.db, principal, id);
  if (!mayAnswerRequest(principal, request)) {
    throw new AppError('forbidden', `Only ${addresseeOf(request)} can answer this request.`);
  }
  if (request.status !== 'open') throw alreadyClosedError(request);
  if (request.kind !== 'service') {
    const message = `is a request for a ${request.kind}, which no service answers`;
    throw new AppError('invalid_params', `The request_id ${message}; leave it out.`, {
      details: { issues: [{ path: 'request_id', message }] },
    });
  }
  requireSameValue('template', { given: template, asked: request.template?.key });
  requireSameValue('tier', { given: tier, asked: request.tier });
  await requireRequester(deps, request);
  return {};
}

function requireSameValue(
  path: 'template' | 'tier',
  { given, asked }: { given: string; asked: string | undefined },
): void {
  if (given === asked) return;
  const message = `is not what was asked for: ${asked}`;
  throw new AppError('invalid_params', `The ${path} ${message}.`, {
    details: { issues: [{ path, message }] },
  });
}

/**
 * Checks again that the requester was not revoked, because the event of the revocation may have
 * been missed. If others have asked for the same, the request passes to one of them.
 */
async function requireRequester(
  deps: Pick<Deps, 'db' | 'owners'>,
  { orgId, id, requester }: PersonRequest,
): Promise<void> {
  const chain = { orgId, identityId: requester.id };
  const { standing } = await deps.owners.auth.getChain(chain, deadlineIn(2_000));
  if (standing !== 'revoked' && standing !== 'expired') return;
  await cancelRequestsOf(deps, { orgId, identityIds: [requester.id] });
  const remaining = await findRequest(deps.db, { orgId, id });
  // Each recursion removes one asker, so there are at most as many recursions as askers.
  if (remaining?.status === 'open' && remaining.requester.id !== requester.id) {
    await requireRequester(deps, remaining);
    return;
  }
  throw new AppError(
    'conflict',
    'The agent that asked for this is gone, so the request was cancelled.',
    {
      details: { status: 'cancelled' },
    },
  );
}
