import type { Deadline } from '#bus';
import type { Principal } from '#contracts/vocabulary';
import type { Deps } from '../deps.ts';
import type { Actor } from '../domain/announce.ts';
import { isNoHigherRisk, isTooLarge } from '../domain/approval.ts';
import type { Approval } from '../domain/approval.ts';
import { covers } from '../domain/pattern.ts';
import type { RulePattern } from '../domain/pattern.ts';
import { listOpenAtPlacement } from '../repository/approval-lists.ts';
import { allowApproval } from '../transitions/approval.ts';
import { authorityOf } from './authority.ts';
import { mayDecide } from './standing.ts';

const cascadedMax = 20;
const candidatesMax = 200;
/** With less time than this left, the caller's answer comes first. */
const enoughTimeMs = 500;

interface Cascade {
  readonly approval: Approval;
  readonly patterns: readonly RulePattern[];
  readonly decider: Principal;
  readonly actor: Actor;
}

/**
 * Allows the other open approvals that a new rule makes needless (decisions: Cascade), each as a
 * transition of its own; the ids of those that were. One that cannot be decided stays open.
 */
export async function cascade(
  deps: Deps,
  { approval, patterns, decider, actor }: Cascade,
  deadline: Deadline,
): Promise<string[]> {
  const candidates = await listOpenAtPlacement(deps.db, approval, candidatesMax);
  const covered = candidates
    .filter((candidate) => isNoHigherRisk(candidate.risk, approval.risk))
    .filter((candidate) => !isTooLarge(candidate))
    .filter((candidate) =>
      candidate.card.permissionKeys.every((key) =>
        patterns.some((pattern) => covers(pattern, key)),
      ),
    )
    .slice(0, cascadedMax);

  const cascaded: string[] = [];
  for (const candidate of covered) {
    if (deadline.remainingMs() < enoughTimeMs) break;
    if (!(await mayAllow(deps, { approval: candidate, decider }, deadline))) continue;
    const allowed = await allowApproval(deps.db, candidate, {
      actor,
      reason: null,
      selfClientId: null,
      remember: null,
      cascadedFrom: approval.id,
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
    return (await authorityOf(deps, { approval, decider, keys: [] }, deadline)).covers;
  } catch (error) {
    deps.logger.debug({ err: error, approvalId: approval.id }, 'not decided by cascade');
    return false;
  }
}
