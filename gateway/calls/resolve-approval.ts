import type { Deadline } from '#bus';
import { isOpenApproval } from '#contracts/approval-status';
import type { ProposedDecision } from '#contracts/decision';
import { showApproval } from '#contracts/card';
import { decisionWords } from '#contracts/decision-words';
import type { ApprovalResponse, ResolveApprovalBody } from '#contracts/http/approvals';
import type { CallContext } from '#contracts/vocabulary';
import { AppError } from '#errors';
import type { Credential } from '../authentication/caller.ts';
import type { Deps } from '../deps.ts';

export interface ResolveRequest {
  readonly principal: string;
  /** The caller's credential. Auth signs a decision to allow only for the owner of a credential. */
  readonly credential: Credential;
  readonly id: string;
  readonly as: ProposedDecision['as'];
  readonly body: ResolveApprovalBody;
  readonly context: CallContext;
}

/**
 * Decides an approval. Before a call is allowed, auth signs the decision, for the owner of the
 * caller's credential and for the request that the approval shows. Without this signature, neither
 * approvals nor the gateway can have a call run that nobody allowed.
 */
export async function resolveApproval(
  deps: Pick<Deps, 'approvals' | 'auth' | 'cards'>,
  resolveRequest: ResolveRequest,
  deadline: Deadline,
): Promise<ApprovalResponse> {
  const { principal, id, as, body, context } = resolveRequest;
  const decision = isAllowing(body) ? await signAllow(deps, resolveRequest, deadline) : null;
  const busRequest = { principal, id, as, body, decision, context };
  return showApproval(await deps.approvals.resolve(busRequest, deadline), deps.cards, id);
}

async function signAllow(
  { approvals, auth, cards }: Pick<Deps, 'approvals' | 'auth' | 'cards'>,
  { principal, credential: { kind, token }, id, as, body }: ResolveRequest,
  deadline: Deadline,
): Promise<string | null> {
  const storedApproval = await approvals.get({ principal, id }, deadline);
  const { proof } = storedApproval;
  const approval = showApproval(storedApproval, cards, id);
  // If no decision is signed, approvals answers with the error for this state of the approval.
  if (proof === null || !isOpenApproval(approval)) return null;
  if (!approval.verified) throw notVerifiedError();
  const { gapDigest, requestDigest } = proof;
  const { remembersFor } = decisionWords[body.resolution];
  const isRemembered = remembersFor !== null;
  const isShownInOutline = approval.request.too_large === true;
  // The component approvals must refuse these decisions. Because they are not signed, even a
  // compromised approvals component cannot accept them.
  if (isShownInOutline && (as === 'self' || isRemembered || body.acknowledge !== 'too_large'))
    return null;
  const narrowestKeys = approval.suggested_tiers[0]?.keys ?? [];
  const proposedDecision: ProposedDecision = {
    gapDigest,
    requestDigest,
    approvalId: id,
    as,
    resolution: isRemembered ? 'allow_remember' : 'allow',
    patterns: isRemembered ? (body.remember_keys ?? narrowestKeys) : [],
    cascade: isRemembered && as === 'ancestor' && body.cascade !== false,
    acknowledge: body.acknowledge ?? null,
  };
  const ttlFields = {
    ttl: isRemembered ? (body.ttl ?? null) : null,
    forever: remembersFor === 'forever',
  };
  const { decision } = await auth.signDecision(
    { kind, token, proposed: proposedDecision, ...ttlFields },
    deadline,
  );
  return decision;
}

function notVerifiedError(): AppError {
  return new AppError(
    'card_not_verified',
    'What this approval shows is not what was asked for when the call was suspended, so it cannot be allowed. Deny it, make the call again, and have the audit log and the approvals component looked at.',
  );
}

function isAllowing({ resolution }: ResolveApprovalBody): boolean {
  return decisionWords[resolution].move === 'allow';
}
