import type { Deadline } from '#bus';
import type { ProposedDecision } from '#contracts/decision';
import { showApproval } from '#contracts/card';
import type { ApprovalResponse, ResolveApprovalBody } from '#contracts/http/approvals';
import type { CallContext } from '#contracts/vocabulary';
import { AppError } from '#errors';
import type { Credential } from './authenticate.ts';
import type { Deps } from './deps.ts';

export interface Resolving {
  readonly principal: string;
  /** What the request came with: auth signs an allow for its owner alone. */
  readonly credential: Credential;
  readonly id: string;
  readonly as: ProposedDecision['as'];
  readonly body: ResolveApprovalBody;
  readonly context: CallContext;
}

/**
 * Decides an approval. An allow is first signed by auth, for the credential at hand and for the
 * very request that approvals shows: nothing runs by the word of approvals, or of the gateway.
 */
export async function resolveApproval(
  deps: Pick<Deps, 'approvals' | 'auth' | 'cards'>,
  resolving: Resolving,
  deadline: Deadline,
): Promise<ApprovalResponse> {
  const { principal, id, as, body, context } = resolving;
  const decision = isAllow(body) ? await signAllow(deps, resolving, deadline) : null;
  const resolve = { principal, id, as, body, decision, context };
  return showApproval(await deps.approvals.resolve(resolve, deadline), deps.cards, id);
}

async function signAllow(
  { approvals, auth, cards }: Pick<Deps, 'approvals' | 'auth' | 'cards'>,
  { principal, credential: { kind, token }, id, as, body }: Resolving,
  deadline: Deadline,
): Promise<string | null> {
  const stored = await approvals.get({ principal, id }, deadline);
  const { proof } = stored;
  const approval = showApproval(stored, cards, id);
  const isOpen = approval.status === 'pending' || approval.status === 'bubbled';
  // approvals knows best how to refuse these.
  if (proof === null || !isOpen) return null;
  if (!approval.verified) throw notVerified();
  const { gapDigest, requestDigest } = proof;
  const isRemembered = body.resolution !== 'allow' && body.resolution !== 'allow_once';
  const isOutlined = approval.request.too_large === true;
  // Nothing is signed for approvals to wave through what it has to refuse.
  if (isOutlined && (as === 'self' || isRemembered || body.acknowledge !== 'too_large'))
    return null;
  const narrowest = approval.suggested_tiers[0]?.keys ?? [];
  const proposed: ProposedDecision = {
    gapDigest,
    requestDigest,
    approvalId: id,
    as,
    resolution: isRemembered ? 'allow_remember' : 'allow',
    patterns: isRemembered ? (body.remember_keys ?? narrowest) : [],
    cascade: isRemembered && as === 'ancestor' && body.cascade !== false,
    acknowledge: body.acknowledge ?? null,
  };
  const remembering = {
    ttl: isRemembered ? (body.ttl ?? null) : null,
    forever: body.resolution === 'allow_always',
  };
  const { decision } = await auth.signDecision({ kind, token, proposed, ...remembering }, deadline);
  return decision;
}

function notVerified(): AppError {
  return new AppError(
    'card_not_verified',
    'What this approval shows is not what was asked for when the call was suspended, so it cannot be allowed. Deny it, make the call again, and have the audit log and the approvals component looked at.',
  );
}

function isAllow({ resolution }: ResolveApprovalBody): boolean {
  return resolution !== 'deny' && resolution !== 'bubble';
}
