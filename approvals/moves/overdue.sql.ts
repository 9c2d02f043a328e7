import type { Transaction } from '#database';
import { openStatuses, selectApprovals, toApproval } from '../approval/approval-row.sql.ts';
import type { ApprovalRow } from '../approval/approval-row.sql.ts';
import type { Approval } from '../approval/domain/approval.ts';

// The time limits of all orgs are checked together, so these statements filter by no org. They find
// what is due, and change each row within its own org.

/**
 * Moves overdue approvals to `expired` and erases their calls, for one requester or for all. Skips
 * rows that another replica has locked, so that only one replica changes each row.
 */
export async function expireOverdueApprovals(
  tx: Transaction,
  { requester, limit }: { requester: { orgId: string; id: string } | null; limit: number },
): Promise<Approval[]> {
  const movedRows = await tx<{ id: string }[]>`
    with due as (
      select org_id, id
        from approvals.approval
       where status in ${openStatuses(tx)}
         and expires_at <= now()
         ${requester ? tx`and org_id = ${requester.orgId} and requester_id = ${requester.id}` : tx``}
       order by expires_at
       limit ${limit}
         for update skip locked
    )
    update approvals.approval a
       set status = 'expired', resolved_at = now(), bubble_at = null, gap = null, sealed_call = null
      from due
     where a.org_id = due.org_id
       and a.id = due.id
    returning a.id
  `;
  return approvalsOf(tx, movedRows);
}

/** Moves the executions of allowed calls that were not run in time to `expired`, and erases the calls. */
export async function expireOverdueExecutions(tx: Transaction, limit: number): Promise<Approval[]> {
  const movedRows = await tx<{ id: string }[]>`
    with due as (
      select org_id, id
        from approvals.execution
       where status = 'pending'
         and expires_at <= now()
       order by expires_at
       limit ${limit}
         for update skip locked
    ), expired as (
      update approvals.execution e
         set status = 'expired', finished_at = now()
        from due
       where e.org_id = due.org_id
         and e.id = due.id
      returning e.org_id, e.approval_id
    )
    update approvals.approval a
       set gap = null, sealed_call = null, decision = null, decided_gap = null
      from expired
     where a.org_id = expired.org_id
       and a.id = expired.approval_id
    returning a.id
  `;
  return approvalsOf(tx, movedRows);
}

/** Locks approvals that their resolver has had for longer than the org's setting allows. */
export async function lockApprovalsToBubble(tx: Transaction, limit: number): Promise<Approval[]> {
  const rows = await tx<ApprovalRow[]>`
    ${selectApprovals(tx, { withResults: false })}
     where a.status in ${openStatuses(tx)}
       and a.bubble_at is not null
       and a.bubble_at <= now()
       and a.expires_at > now()
     order by a.bubble_at
     limit ${limit}
       for update of a skip locked
  `;
  return rows.map(toApproval);
}

async function approvalsOf(
  tx: Transaction,
  movedRows: readonly { id: string }[],
): Promise<Approval[]> {
  if (movedRows.length === 0) return [];
  const rows = await tx<ApprovalRow[]>`
    ${selectApprovals(tx, { withResults: false })}
     where a.id in ${tx(movedRows.map((row) => row.id))}
     order by a.id
  `;
  return rows.map(toApproval);
}
