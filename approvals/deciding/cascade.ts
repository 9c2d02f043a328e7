import type { Deadline } from '#bus';
import type { Principal } from '#contracts/vocabulary';
import { createMatcher } from '#permission-key';
import type { RulePattern } from '#permission-key';
import type { Deps } from '../deps.ts';
import type { Actor, Remembered } from '../domain/announce.ts';
import { isNoHigherRisk, isTooLarge } from '../domain/approval.ts';
import type { Approval } from '../domain/approval.ts';
import { listOpenAtPlacement } from '../repository/approval-lists.ts';
import { allowApproval } from '../transitions/approval.ts';
import { authorityOf, getGap } from './authority.ts';
import { mayDecide } from './standing.ts';

const cascadedMax = 20;
/** Policy permits no older one by the decision on another; it is decided by itself. */
const cascadeAgeMsMax = 22 * 60 * 60_000;
const candidatesMax = 200;
/** With less time than this left, the caller's answer comes first. */
const enoughTimeMs = 500;

interface Cascade {
  readonly approval: Approval;
  readonly patterns: readonly RulePattern[];
  readonly decider: Principal;
  readonly actor: Actor;
  /** The decision on that approval, and the gap that it was made on. */
  readonly remembered: Remembered;
}

/**
 * Allows the other open approvals that a new rule covers, each as a transition of its own, and
 * returns their ids. An approval that cannot be decided stays open
 * (docs/reference/approvals.md#cascade).
 */
export async function cascade(
  deps: Deps,
  { approval, patterns, decider, actor, remembered }: Cascade,
  deadline: Deadline,
): Promise<string[]> {
  const candidates = await listOpenAtPlacement(deps.db, approval, candidatesMax);
  const matchers = patterns.map(createMatcher);
  const covered = candidates
    .filter(({ risk }) => risk !== 'delete' && isNoHigherRisk(risk, approval.risk))
    .filter((candidate) => !isTooLarge(candidate))
    .filter(({ createdAt }) => deps.now() - createdAt.getTime() < cascadeAgeMsMax)
    .filter((candidate) =>
      candidate.card.permissionKeys.every((key) => matchers.some((matches) => matches(key))),
    )
    .slice(0, cascadedMax);

  const cascaded: string[] = [];
  for (const candidate of covered) {
    if (deadline.remainingMs() < enoughTimeMs) break;
    if (!(await mayAllow(deps, { approval: candidate, decider }, deadline))) continue;
    const allowed = await allowApproval(deps.db, candidate, {
      actor,
      reason: null,
      decision: remembered.decision,
      remembered: null,
      cascadedFrom: { id: approval.id, gap: remembered.gap },
    });
    if (allowed) cascaded.push(candidate.id);
  }
  return cascaded;
}

async function mayAllow(
  deps: Deps,
  { approval, decider }: { approval: Approval; decider: Principal },
  deadline: Deadline,
): Promise<boolean> {
  try {
    if ((await mayDecide(deps, { approval, decider }, deadline)) !== 'active') return false;
    const gap = await getGap(deps, approval);
    return (await authorityOf(deps, { approval, gap, decider, keys: [] }, deadline)).covers;
  } catch (error) {
    deps.logger.debug({ err: error, approvalId: approval.id }, 'not decided by cascade');
    return false;
  }
}
