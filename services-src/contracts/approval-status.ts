/** The states of an approval, and whether it waits for a decision in each. */
const statuses = {
  pending: { isOpen: true },
  bubbled: { isOpen: true },
  allowed: { isOpen: false },
  denied: { isOpen: false },
  expired: { isOpen: false },
} as const;

export type ApprovalStatus = keyof typeof statuses;
export const approvalStatuses = Object.keys(statuses) as ApprovalStatus[];
/** The equivalent in SQL is `openStatuses` of approvals/approval/approval-row.sql.ts. */
export const openStatuses = approvalStatuses.filter((status) => isOpenApproval({ status }));

export function isOpenApproval({ status }: { readonly status: ApprovalStatus }): boolean {
  return statuses[status].isOpen;
}
