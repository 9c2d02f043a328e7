import type { Deadline } from '#bus';
import type { StoredApproval } from '#contracts/card';
import type { ResolveApprovalBody } from '#contracts/http/approvals';
import type { CallContext, Principal } from '#contracts/vocabulary';
import { AppError } from '#errors';
import type { RulePattern } from '#permission-key';
import { assertAcknowledged } from '../deciding/acknowledged.ts';
import { authorityOf, exceedsAuthority, getGap } from '../deciding/authority.ts';
import type { Authority } from '../deciding/authority.ts';
import { cascade } from '../deciding/cascade.ts';
import { checkSignedDecision } from '../deciding/signed-decision.ts';
import { hasEnded, mayDecide, mayDecideForItself } from '../deciding/standing.ts';
import type { Deps, DepsWithReplays } from '../deps.ts';
import { actorOf } from '../domain/announce.ts';
import type { Actor, Remembered } from '../domain/announce.ts';
import { isOpen } from '../domain/approval.ts';
import type { Approval } from '../domain/approval.ts';
import { parseDecision } from '../domain/decision.ts';
import type { Decision, Remember } from '../domain/decision.ts';
import { nextResolver } from '../domain/ladder.ts';
import { outlives } from '../domain/lifetime.ts';
import { presentApproval } from '../domain/present.ts';
import type { Relationship } from '../domain/relationship.ts';
import { alreadyResolved, notFound } from '../domain/refusals.ts';
import { rememberedPatterns } from '../domain/remember.ts';
import { findApproval } from '../repository/approval.ts';
import {
  allowApproval,
  bubbleApproval,
  denyApproval,
  denyRevoked,
} from '../transitions/approval.ts';

interface ResolveRequest {
  readonly principal: string;
  readonly id: string;
  readonly as: 'ancestor' | 'self';
  readonly body: ResolveApprovalBody;
  /** Auth's, for an `allow`. */
  readonly decision: string | null;
  readonly context: CallContext;
}

interface Deciding {
  readonly deps: DepsWithReplays;
  readonly approval: Approval;
  readonly decider: Principal;
  readonly actor: Actor;
  /** `self`: a requester that decides for itself, with its user's authority. */
  readonly relationship: Extract<Relationship, 'self' | 'downstream'>;
  readonly signed: string | null;
  readonly deadline: Deadline;
}

/** Records a decision on an open approval and announces it, or changes nothing. */
export async function resolveApproval(
  deps: DepsWithReplays,
  { principal, id, as, body, decision: signed, context }: ResolveRequest,
  deadline: Deadline,
): Promise<StoredApproval> {
  const decider = deps.readPrincipal(principal);
  const decision = parseDecision(body);
  const approval = await findApproval(deps.db, { orgId: decider.orgId, approvalId: id });
  if (!approval) throw notFound();
  const isSelf = as === 'self';
  const standing = isSelf
    ? await mayDecideForItself(deps, { approval, decider, principal }, deadline)
    : await mayDecide(deps, { approval, decider }, deadline);
  if (!isOpen(approval)) throw alreadyResolved(approval);
  if (hasEnded(standing)) {
    await denyRevoked(deps.db, approval, standing);
    throw await refusalOf(deps, approval);
  }
  if (standing === 'archived' && decision.kind === 'allow') throw requesterArchived();
  const relationship = isSelf ? ('self' as const) : ('downstream' as const);
  const actor = actorOf(decider, context);
  const deciding = { deps, approval, decider, actor, relationship, signed, deadline };
  const response = await decide(deciding, decision);
  deps.logger.info(
    {
      approvalId: id,
      deciderId: decider.identityId,
      granted: decision.kind === 'allow',
      reason: body.resolution,
      permission_key: approval.card.permissionKeys,
    },
    'approval decided',
  );
  return response;
}

async function decide(deciding: Deciding, decision: Decision): Promise<StoredApproval> {
  switch (decision.kind) {
    case 'bubble':
      return bubble(deciding);
    case 'deny':
      return deny(deciding, decision.reason);
    case 'allow':
      return allow(deciding, decision);
  }
}

async function bubble({
  deps,
  approval,
  decider,
  actor,
  relationship,
}: Deciding): Promise<StoredApproval> {
  if (!nextResolver(approval.ladder, approval.resolverId)) {
    throw new AppError(
      'already_at_top',
      'This approval is with the user already; allow or deny it.',
    );
  }
  const by = decider.kind === 'user' ? 'user' : 'agent';
  const bubbled = await deps.db.transaction((tx) => bubbleApproval(tx, approval, { by, actor }));
  if (bubbled) return presentApproval(bubbled, relationship);
  // Somebody was faster: decided, or handed up, which is what was asked for.
  const now = await findApproval(deps.db, { orgId: approval.orgId, approvalId: approval.id });
  if (now && isOpen(now) && now.resolverId !== approval.resolverId)
    return presentApproval(now, relationship);
  throw await refusalOf(deps, approval);
}

async function deny(
  { deps, approval, actor, relationship }: Deciding,
  reason: string | null,
): Promise<StoredApproval> {
  const key = { orgId: approval.orgId, approvalId: approval.id };
  const denied = await denyApproval(deps.db, key, { actor, resolution: 'deny', reason });
  if (!denied) throw await refusalOf(deps, approval);
  return presentApproval(denied, relationship);
}

async function allow(
  deciding: Deciding,
  asked: Decision & { kind: 'allow' },
): Promise<StoredApproval> {
  const { reason, remember, acknowledge } = asked;
  const { deps, approval, decider, actor, relationship, deadline } = deciding;
  const isSelf = relationship === 'self';
  assertAcknowledged(approval, { decision: asked, isSelf });
  const patterns = remember === null ? [] : rememberedPatterns(approval.card, remember.keys);
  const keys = patterns.map(({ pattern }) => pattern);
  const gap = await getGap(deps, approval);
  if (!isSelf) {
    const authority = await authorityOf(deps, { approval, gap, decider, keys }, deadline);
    await assertAuthority(deciding, { authority, remember });
  }
  const as = isSelf ? 'self' : 'ancestor';
  const allowing = { approval, gap, decider, as, remember, patterns, acknowledge } as const;
  const decision = checkSignedDecision(deps, deciding.signed, allowing);
  const remembered = remember && { gap, decision };
  const allowed = await allowApproval(deps.db, approval, {
    actor,
    reason,
    decision,
    remembered,
    cascadedFrom: null,
  });
  if (!allowed) throw await refusalOf(deps, approval);
  deps.replays.wake();
  const response = presentApproval(allowed, relationship);
  if (!remember || !remembered) return response;
  await plant(deps, { approval, remembered }, deadline);
  if (isSelf || !remember.cascade) return { ...response, cascaded_approval_ids: [] };
  const cascaded = await cascadeFrom(deciding, { patterns, remembered });
  return { ...response, cascaded_approval_ids: cascaded };
}

/** An agent whose authority does not reach also hands the approval up, if it was the one asked. */
async function assertAuthority(
  { deps, approval, decider, actor }: Deciding,
  { authority, remember }: { authority: Authority; remember: Remember | null },
): Promise<void> {
  if (decider.kind === 'user') return;
  if (!authority.covers) {
    const isAsked = approval.resolverId === decider.identityId;
    const bubbled = isAsked
      ? await deps.db.transaction((tx) => bubbleApproval(tx, approval, { by: 'agent', actor }))
      : undefined;
    throw exceedsAuthority({
      uncovered: [...authority.uncovered],
      resolver_id: bubbled?.resolverId ?? approval.resolverId,
    });
  }
  if (remember?.ttlSeconds === 'forever') {
    throw exceedsAuthority({ issues: [{ path: 'ttl', message: 'an agent must give a ttl' }] });
  }
  if (remember && outlives(remember.ttlSeconds, { until: authority.until, nowMs: deps.now() })) {
    throw exceedsAuthority({ until: authority.until?.toISOString() });
  }
}

function requesterArchived(): AppError {
  return new AppError(
    'identity_archived',
    'The requester or one above it is archived, or its user is an auditor; restore it before you allow its call, or deny it.',
  );
}

/** Now, so that the next call finds the rule; should it fail, the event plants it. */
async function plant(
  deps: Deps,
  { approval, remembered }: { approval: Approval; remembered: Remembered },
  deadline: Deadline,
): Promise<void> {
  try {
    await deps.policy.plantRules(remembered, deadline);
  } catch (error) {
    deps.logger.warn({ err: error, approvalId: approval.id }, 'rule is planted by its event');
  }
}

/** The decision stands whatever becomes of the cascade. */
async function cascadeFrom(
  { deps, approval, decider, actor, deadline }: Deciding,
  rules: { readonly patterns: readonly RulePattern[]; readonly remembered: Remembered },
): Promise<string[]> {
  try {
    const cascaded = await cascade(deps, { approval, decider, actor, ...rules }, deadline);
    if (cascaded.length > 0) deps.replays.wake();
    return cascaded;
  } catch (error) {
    deps.logger.warn({ err: error, approvalId: approval.id }, 'cascade interrupted');
    return [];
  }
}

/** What to tell whoever came too late: the decision that won. */
async function refusalOf({ db }: Deps, { orgId, id }: Approval): Promise<AppError> {
  const now = await findApproval(db, { orgId, approvalId: id });
  return now ? alreadyResolved(now) : notFound();
}
