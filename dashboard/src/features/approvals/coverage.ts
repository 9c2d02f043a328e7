import type { ApprovalResponse } from '#contracts/http/approvals';
import { createMatcher } from '#permission-key';
import { needsSecondGesture } from './second-gesture.ts';

const levels = { low: 0, med: 1, high: 2 } as const;

/**
 * The waiting calls that a rule of these keys would cover too, shown before the decision. The
 * gateway decides again and checks more; this list never shows fewer than it allows
 * (docs/reference/approvals.md#cascade).
 */
export function coveredBy(
  keys: readonly string[],
  approval: ApprovalResponse,
  open: readonly ApprovalResponse[],
): ApprovalResponse[] {
  // The call's own keys are stored exact.
  const matchers = keys.map((pattern) =>
    createMatcher({ pattern, exact: approval.permission_keys.includes(pattern) }),
  );
  return open.filter(
    (other) =>
      other.id !== approval.id &&
      other.placement.id === approval.placement.id &&
      other.service === approval.service &&
      levels[other.risk] <= levels[approval.risk] &&
      other.verified &&
      !needsSecondGesture(other) &&
      other.permission_keys.every((key) => matchers.some((matches) => matches(key))),
  );
}
