import type { Deadline } from '#bus';
import type { ApprovalResponse, ResolveApprovalBody } from '#contracts/http/approvals';
import type { CallContext, Principal } from '#contracts/vocabulary';
import { AppError } from '#errors';
import { assertAcknowledged } from '../deciding/acknowledged.ts';
import { authorityOf, exceedsAuthority, unlimited } from '../deciding/authority.ts';
import type { Authority } from '../deciding/authority.ts';
import { cascade } from '../deciding/cascade.ts';
import { hasEnded, mayDecide, mayDecideForItself } from '../deciding/standing.ts';
import type { Deps, DepsWithReplays } from '../deps.ts';
import { actorOf } from '../domain/announce.ts';
import type { Actor, Remembered } from '../domain/announce.ts';
import { isOpen } from '../domain/approval.ts';
import type { Approval } from '../domain/approval.ts';
import { parseDecision } from '../domain/decision.ts';
import type { Decision, Remember } from '../domain/decision.ts';
import { nextResolver } from '../domain/ladder.ts';
import { exceedsSelfMax, outlives, ruleExpiry } from '../domain/lifetime.ts';
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
  readonly context: CallContext;
}

interface Deciding {
  readonly deps: DepsWithReplays;
  readonly approval: Approval;
  readonly decider: Principal;
  readonly actor: Actor;
  /** `self`: a requester that decides for itself, with its user's authority. */
  readonly relationship: Extract<Relationship, 'self' | 'downstream'>;
  readonly deadline: Deadline;
}

/** Records a decision on an open approval and announces it, or changes nothing. */
export async function resolveApproval(
  deps: DepsWithReplays,
  { principal, id, as, body, context }: ResolveRequest,
  deadline: Deadline,
): Promise<ApprovalResponse> {
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
  const deciding = { deps, approval, decider, actor, relationship, deadline };
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

async function decide(deciding: Deciding, decision: Decision): Promise<ApprovalResponse> {
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
}: Deciding): Promise<ApprovalResponse> {
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
): Promise<ApprovalResponse> {
  const key = { orgId: approval.orgId, approvalId: approval.id };
  const denied = await denyApproval(deps.db, key, { actor, resolution: 'deny', reason });
  if (!denied) throw await refusalOf(deps, approval);
  return presentApproval(denied, relationship);
}

async function allow(
  deciding: Deciding,
  decision: Decision & { kind: 'allow' },
): Promise<ApprovalResponse> {
  const { reason, remember } = decision;
  const { deps, approval, decider, actor, relationship, deadline } = deciding;
  assertAcknowledged(approval, { decision, isSelf: relationship === 'self' });
  const patterns = remember && rememberedPatterns(approval.card, remember.keys);
  const keys = patterns?.map(({ pattern }) => pattern) ?? [];
  const isSelf = relationship === 'self';
  const selfClientId = isSelf ? decider.credential.clientId : null;
  const authority = isSelf
    ? unlimited
    : await authorityOf(deps, { approval, decider, keys }, deadline);
  if (!isSelf) await assertAuthority(deciding, { authority, remember });
  const settings = remember && (await deps.getOrgSettings(approval.orgId, deadline));
  if (isSelf && remember && settings) assertSelfMax(remember, settings.selfRememberMaxSeconds);

  const allowed = await allowApproval(deps.db, approval, {
    actor,
    reason,
    selfClientId,
    cascadedFrom: null,
    remember:
      remember && patterns && settings
        ? (resolvedAt) => ({
            patterns,
            // A user's word, given ahead by the switch: the rule counts only while that is on.
            createdBy: isSelf ? approval.userId : decider.identityId,
            viaClientId: selfClientId,
            expiresAt: ruleExpiry(remember.ttlSeconds, resolvedAt, {
              until: authority.until,
              defaultTtlSeconds: isSelf
                ? Math.min(settings.rememberTtlSeconds, settings.selfRememberMaxSeconds)
                : settings.rememberTtlSeconds,
            }),
          })
        : null,
  });
  if (!allowed) throw await refusalOf(deps, approval);
  deps.replays.wake();
  const response = presentApproval(allowed.approval, relationship);
  if (!remember || !allowed.remembered) return response;
  const { remembered } = allowed;
  await plant(deps, { approval, remembered }, deadline);
  if (isSelf || !remember.cascade) return { ...response, cascaded_approval_ids: [] };
  return { ...response, cascaded_approval_ids: await cascadeFrom(deciding, remembered) };
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

function assertSelfMax({ ttlSeconds }: Remember, maxSeconds: number): void {
  if (!exceedsSelfMax(ttlSeconds, maxSeconds)) return;
  const message = `must be given, and be ${maxSeconds} seconds at most`;
  throw exceedsAuthority({ max_ttl_seconds: maxSeconds, issues: [{ path: 'ttl', message }] });
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
    await deps.policy.plantRules(
      {
        orgId: approval.orgId,
        approvalId: approval.id,
        placementId: approval.placementId,
        patterns: remembered.patterns.map((pattern) => ({ ...pattern })),
        serviceId: approval.serviceId,
        credentialId: approval.credentialId,
        createdBy: remembered.createdBy,
        viaClientId: remembered.viaClientId,
        expiresAt: remembered.expiresAt?.toISOString() ?? null,
      },
      deadline,
    );
  } catch (error) {
    deps.logger.warn({ err: error, approvalId: approval.id }, 'rule is planted by its event');
  }
}

/** The decision stands whatever becomes of the cascade. */
async function cascadeFrom(
  { deps, approval, decider, actor, deadline }: Deciding,
  { patterns }: Remembered,
): Promise<string[]> {
  try {
    const cascaded = await cascade(deps, { approval, patterns, decider, actor }, deadline);
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
