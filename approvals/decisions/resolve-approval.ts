import type { Deadline } from '#bus';
import { isOpenApproval } from '#contracts/approval-status';
import type { StoredApproval } from '#contracts/card';
import type { Move } from '#contracts/decision-words';
import type { ResolveApprovalBody } from '#contracts/http/approvals';
import type { CallContext, Principal } from '#contracts/vocabulary';
import { AppError } from '#errors';
import type { RulePattern } from '#permission-key';
import { findApproval } from '../approval/approval.sql.ts';
import { actorOf } from '../approval/domain/announcements.ts';
import type { Actor, RememberedDecision } from '../approval/domain/announcements.ts';
import type { Approval } from '../approval/domain/approval.ts';
import { findNextResolver } from '../approval/domain/ladder.ts';
import { presentApproval } from '../approval/domain/present.ts';
import { alreadyResolvedError, approvalNotFoundError } from '../approval/domain/refusals.ts';
import type { Relationship } from '../approval/domain/relationship.ts';
import { traceApproval } from '../approval/trace-approval.ts';
import type { Deps, DepsWithReplays } from '../deps.ts';
import {
  allowApproval,
  bubbleApproval,
  denyApproval,
  denyRevoked,
} from '../moves/approval-moves.ts';
import { assertAcknowledged } from './acknowledgement.ts';
import { authorityOf, exceedsAuthorityError, getGap } from './authority.ts';
import type { Authority } from './authority.ts';
import { cascadeDecision } from './cascade.ts';
import { hasEnded, assertMayDecide, assertMayDecideForItself } from './deciders.ts';
import { parseDecision, reasonOf } from './domain/decision.ts';
import type { Decision, RememberOptions } from './domain/decision.ts';
import { outlivesAuthority } from './domain/lifetime.ts';
import { rememberedPatternsOf } from './domain/remembered-patterns.ts';
import { checkSignedDecision } from './signed-decision.ts';

interface ResolveRequest {
  readonly principal: string;
  readonly id: string;
  readonly as: 'ancestor' | 'self';
  readonly body: ResolveApprovalBody;
  /** The decision that auth signed; `allow` needs one. */
  readonly decision: string | null;
  readonly context: CallContext;
}

interface DecisionRequest {
  readonly deps: DepsWithReplays;
  readonly approval: Approval;
  readonly decider: Principal;
  readonly actor: Actor;
  /** The body of the decision. Each move reads only the fields that belong to it. */
  readonly body: ResolveApprovalBody;
  /** `self` is a requester that decides for itself, with its user's authority. */
  readonly relationship: Extract<Relationship, 'self' | 'downstream'>;
  readonly signed: string | null;
  readonly deadline: Deadline;
}

/**
 * Records a decision on an open approval and announces it. Throws without changing anything when
 * the caller may not decide or the approval is not open.
 */
export async function resolveApproval(
  deps: DepsWithReplays,
  { principal, id, as, body, decision: signed, context }: ResolveRequest,
  deadline: Deadline,
): Promise<StoredApproval> {
  const decider = deps.readPrincipal(principal);
  const decision = parseDecision(body);
  const approval = await findApproval(deps.db, { orgId: decider.orgId, approvalId: id });
  if (!approval) throw approvalNotFoundError();
  traceApproval(approval);
  const isSelf = as === 'self';
  const requesterStanding = isSelf
    ? await assertMayDecideForItself(deps, { approval, decider, principal }, deadline)
    : await assertMayDecide(deps, { approval, decider }, deadline);
  if (!isOpenApproval(approval)) throw alreadyResolvedError(approval);
  if (hasEnded(requesterStanding)) {
    await denyRevoked(deps.db, approval, requesterStanding);
    throw await lostRaceErrorOf(deps, approval);
  }
  if (requesterStanding === 'archived' && decision.move === 'allow') throw requesterArchivedError();
  const relationship = isSelf ? ('self' as const) : ('downstream' as const);
  const actor = actorOf(decider, context);
  const decisionRequest = { deps, approval, decider, actor, body, relationship, signed, deadline };
  const response = await handlersByMove[decision.move](decisionRequest, decision);
  deps.logger.info(
    {
      approvalId: id,
      deciderId: decider.identityId,
      granted: decision.move === 'allow',
      reason: body.resolution,
      permission_key: approval.card.permissionKeys,
    },
    'approval decided',
  );
  return response;
}

const handlersByMove: Record<
  Move,
  (decisionRequest: DecisionRequest, decision: Decision) => Promise<StoredApproval>
> = { allow, deny, bubble: bubbleToParent };

async function bubbleToParent({
  deps,
  approval,
  actor,
  relationship,
}: DecisionRequest): Promise<StoredApproval> {
  if (!findNextResolver(approval.ladder, approval.resolverId)) {
    throw new AppError(
      'already_at_top',
      'This approval is with the user already; allow or deny it.',
    );
  }
  const bubbledApproval = await deps.db.transaction((tx) => bubbleApproval(tx, approval, actor));
  if (bubbledApproval) return presentApproval(bubbledApproval, relationship);
  // A concurrent request won. If it also handed the approval up, this request has achieved its
  // purpose.
  const currentApproval = await findApproval(deps.db, {
    orgId: approval.orgId,
    approvalId: approval.id,
  });
  if (
    currentApproval &&
    isOpenApproval(currentApproval) &&
    currentApproval.resolverId !== approval.resolverId
  )
    return presentApproval(currentApproval, relationship);
  throw await lostRaceErrorOf(deps, approval);
}

async function deny(decisionRequest: DecisionRequest): Promise<StoredApproval> {
  const { deps, approval, actor, body, relationship } = decisionRequest;
  const key = { orgId: approval.orgId, approvalId: approval.id };
  const denial = { actor, resolution: 'deny', reason: reasonOf(body) } as const;
  const deniedApproval = await denyApproval(deps.db, key, denial);
  if (!deniedApproval) throw await lostRaceErrorOf(deps, approval);
  return presentApproval(deniedApproval, relationship);
}

async function allow(
  decisionRequest: DecisionRequest,
  allowDecision: Decision,
): Promise<StoredApproval> {
  const { remember, acknowledge } = allowDecision;
  const { deps, approval, decider, actor, body, relationship, deadline } = decisionRequest;
  const isSelf = relationship === 'self';
  assertAcknowledged(approval, { decision: allowDecision, isSelf });
  const patterns = remember === null ? [] : rememberedPatternsOf(approval.card, remember.keys);
  const keys = patterns.map(({ pattern }) => pattern);
  const gap = await getGap(deps, approval);
  if (!isSelf) {
    const authority = await authorityOf(deps, { approval, gap, decider, keys }, deadline);
    await assertAuthority(decisionRequest, { authority, remember });
  }
  const as = isSelf ? 'self' : 'ancestor';
  const allowRequest = { approval, gap, decider, as, remember, patterns, acknowledge } as const;
  const decision = checkSignedDecision(deps, decisionRequest.signed, allowRequest);
  const rememberedDecision = remember && { gap, decision };
  const allowedApproval = await allowApproval(deps.db, approval, {
    actor,
    reason: reasonOf(body),
    decision,
    remembered: rememberedDecision,
    cascadedFrom: null,
  });
  if (!allowedApproval) throw await lostRaceErrorOf(deps, approval);
  deps.replays.wake();
  const response = presentApproval(allowedApproval, relationship);
  if (!remember || !rememberedDecision) return response;
  await plantRules(deps, { approval, remembered: rememberedDecision }, deadline);
  if (isSelf || !remember.cascade) return { ...response, cascaded_approval_ids: [] };
  const cascadedIds = await cascadeFrom(decisionRequest, {
    patterns,
    remembered: rememberedDecision,
  });
  return { ...response, cascaded_approval_ids: cascadedIds };
}

/**
 * Throws when the agent's own authority does not cover the decision. The approval then moves up,
 * if this agent was its resolver.
 */
async function assertAuthority(
  { deps, approval, decider, actor }: DecisionRequest,
  { authority, remember }: { authority: Authority; remember: RememberOptions | null },
): Promise<void> {
  if (decider.kind === 'user') return;
  if (!authority.coversKeys) {
    const isCurrentResolver = approval.resolverId === decider.identityId;
    const bubbledApproval = isCurrentResolver
      ? await deps.db.transaction((tx) => bubbleApproval(tx, approval, actor))
      : undefined;
    throw exceedsAuthorityError({
      uncovered: [...authority.uncoveredKeys],
      resolver_id: bubbledApproval?.resolverId ?? approval.resolverId,
    });
  }
  if (remember?.ttlSeconds === 'forever') {
    throw exceedsAuthorityError({ issues: [{ path: 'ttl', message: 'an agent must give a ttl' }] });
  }
  if (
    remember &&
    outlivesAuthority(remember.ttlSeconds, { authorityEndsAt: authority.endsAt, nowMs: deps.now() })
  ) {
    throw exceedsAuthorityError({ until: authority.endsAt?.toISOString() });
  }
}

function requesterArchivedError(): AppError {
  return new AppError(
    'identity_archived',
    'The agent or one above it is paused (archived), or its user is an auditor. Resume (restore) it before you allow its call, or deny the call.',
  );
}

/**
 * Has the rule created at once, so that the next call finds it. If this fails, policy creates it
 * when the event arrives.
 */
async function plantRules(
  deps: Deps,
  { approval, remembered }: { approval: Approval; remembered: RememberedDecision },
  deadline: Deadline,
): Promise<void> {
  try {
    await deps.policy.plantRules(remembered, deadline);
  } catch (error) {
    deps.logger.warn({ err: error, approvalId: approval.id }, 'rule is planted by its event');
  }
}

/** A cascade that fails does not undo the decision. */
async function cascadeFrom(
  { deps, approval, decider, actor, deadline }: DecisionRequest,
  rules: { readonly patterns: readonly RulePattern[]; readonly remembered: RememberedDecision },
): Promise<string[]> {
  try {
    const cascadedIds = await cascadeDecision(
      deps,
      { approval, decider, actor, ...rules },
      deadline,
    );
    if (cascadedIds.length > 0) deps.replays.wake();
    return cascadedIds;
  } catch (error) {
    deps.logger.warn({ err: error, approvalId: approval.id }, 'cascade interrupted');
    return [];
  }
}

/** The error for a caller that lost a race: it reports the decision that won. */
async function lostRaceErrorOf({ db }: Deps, { orgId, id }: Approval): Promise<AppError> {
  const currentApproval = await findApproval(db, { orgId, approvalId: id });
  return currentApproval ? alreadyResolvedError(currentApproval) : approvalNotFoundError();
}
