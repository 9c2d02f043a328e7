import type { Deadline } from '#bus';
import type { Principal } from '#contracts/vocabulary';
import { createMatcher } from '#permission-key';
import type { RulePattern } from '#permission-key';
import { listOpenApprovalsAtPlacement } from '../approval/approval-lists.sql.ts';
import type { Actor, RememberedDecision } from '../approval/domain/announcements.ts';
import { isRiskAtMost, isRequestTooLarge } from '../approval/domain/approval.ts';
import type { Approval } from '../approval/domain/approval.ts';
import type { Deps } from '../deps.ts';
import { allowApproval } from '../moves/approval-moves.ts';
import { authorityOf, getGap } from './authority.ts';
import { assertMayDecide } from './deciders.ts';

const cascadedApprovalsMax = 20;
/**
 * Policy does not replay an older approval because of a cascade, so an older approval needs its own
 * decision.
 */
const cascadeAgeMsMax = 22 * 60 * 60_000;
const candidatesMax = 200;
/**
 * The cascade stops when less time than this is left, so that the caller gets an answer before its
 * deadline.
 */
const remainingMsMin = 500;

interface CascadeRequest {
  readonly approval: Approval;
  readonly patterns: readonly RulePattern[];
  readonly decider: Principal;
  readonly actor: Actor;
  /**
   * The decision that created the rule, and the permission gap on which it was made, both signed.
   */
  readonly remembered: RememberedDecision;
}

/**
 * Allows the other open approvals that a new rule covers, each in its own transaction. Returns
 * their ids. Approvals that the decider may not decide stay open
 * (docs/reference/approvals.md#cascade).
 */
export async function cascadeDecision(
  deps: Deps,
  { approval, patterns, decider, actor, remembered }: CascadeRequest,
  deadline: Deadline,
): Promise<string[]> {
  const candidates = await listOpenApprovalsAtPlacement(deps.db, approval, candidatesMax);
  const matchers = patterns.map(createMatcher);
  const coveredCandidates = candidates
    .filter(({ risk }) => risk !== 'delete' && isRiskAtMost(risk, approval.risk))
    .filter((candidate) => !isRequestTooLarge(candidate))
    .filter(({ createdAt }) => deps.now() - createdAt.getTime() < cascadeAgeMsMax)
    .filter((candidate) =>
      candidate.card.permissionKeys.every((key) => matchers.some((matches) => matches(key))),
    )
    .slice(0, cascadedApprovalsMax);

  const cascadedIds: string[] = [];
  for (const candidate of coveredCandidates) {
    if (deadline.remainingMs() < remainingMsMin) break;
    if (!(await mayAllow(deps, { approval: candidate, decider }, deadline))) continue;
    const allowedApproval = await allowApproval(deps.db, candidate, {
      actor,
      reason: null,
      decision: remembered.decision,
      remembered: null,
      cascadedFrom: { id: approval.id, gap: remembered.gap },
    });
    if (allowedApproval) cascadedIds.push(candidate.id);
  }
  return cascadedIds;
}

async function mayAllow(
  deps: Deps,
  { approval, decider }: { approval: Approval; decider: Principal },
  deadline: Deadline,
): Promise<boolean> {
  try {
    if ((await assertMayDecide(deps, { approval, decider }, deadline)) !== 'active') return false;
    const gap = await getGap(deps, approval);
    return (await authorityOf(deps, { approval, gap, decider, keys: [] }, deadline)).coversKeys;
  } catch (error) {
    deps.logger.debug({ err: error, approvalId: approval.id }, 'not decided by cascade');
    return false;
  }
}
