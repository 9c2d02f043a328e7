import type { ApprovalResponse } from '#contracts/http/approvals';
import { createMatcher } from '#permission-key';
import { needsSecondGesture } from './second-gesture.ts';

const riskLevels = { low: 0, med: 1, high: 2 } as const;

/**
 * The waiting calls that a rule with these permission keys would also cover. They are shown before
 * the decision. The gateway checks again, and more strictly, so it allows no call that is missing
 * in this list (docs/reference/approvals.md#cascade).
 */
export function findCoveredApprovals(
  keys: readonly string[],
  approval: ApprovalResponse,
  openApprovals: readonly ApprovalResponse[],
): ApprovalResponse[] {
  // The gateway stores the call's own keys as exact patterns, so they are compared as exact here
  // too.
  const matchers = keys.map((pattern) =>
    createMatcher({ pattern, exact: approval.permission_keys.includes(pattern) }),
  );
  return openApprovals.filter(
    (otherApproval) =>
      otherApproval.id !== approval.id &&
      otherApproval.placement.id === approval.placement.id &&
      otherApproval.service === approval.service &&
      riskLevels[otherApproval.risk] <= riskLevels[approval.risk] &&
      otherApproval.verified &&
      !needsSecondGesture(otherApproval) &&
      otherApproval.permission_keys.every((key) => matchers.some((matches) => matches(key))),
  );
}
