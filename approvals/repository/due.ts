import type { Sql, Transaction } from '#database';
import { selectApprovals, toApproval } from './approval-row.ts';
import type { ApprovalRow } from './approval-row.ts';
import type { Approval } from '../domain/approval.ts';

// The clocks serve every org, so these statements alone are not bound to one: they look for
// what is due, and carry each row's own org_id along.

interface Due {
  readonly replays: boolean;
  readonly approvalExpiries: boolean;
  readonly executionExpiries: boolean;
  readonly bubbles: boolean;
  readonly chainChecks: boolean;
}

/** Whether any clock has run out: one cheap statement, so that an idle replica does nothing else. */
export async function findDue(sql: Sql): Promise<Due> {
  const [row] = await sql<
    {
      replays: boolean;
      approval_expiries: boolean;
      execution_expiries: boolean;
      bubbles: boolean;
      chain_checks: boolean;
    }[]
  >`
    select exists (select from approvals.execution
                    where status = 'pending' and automatic and expires_at > now())
           or exists (select from approvals.execution
                       where status = 'executing' and lease_until < now()) as replays,
           exists (select from approvals.approval
                    where status in ('pending', 'bubbled')
                      and expires_at <= now()) as approval_expiries,
           exists (select from approvals.execution
                    where status = 'pending' and expires_at <= now()) as execution_expiries,
           exists (select from approvals.approval
                    where status in ('pending', 'bubbled') and bubble_at is not null
                      and bubble_at <= now()) as bubbles,
           exists (select from approvals.approval
                    where status in ('pending', 'bubbled')
                      and chain_checked_at < now() - interval '1 minute') as chain_checks
  `;
  return {
    replays: row?.replays ?? false,
    approvalExpiries: row?.approval_expiries ?? false,
    executionExpiries: row?.execution_expiries ?? false,
    bubbles: row?.bubbles ?? false,
    chainChecks: row?.chain_checks ?? false,
  };
}

/**
 * Moves overdue approvals to `expired` and erases their calls; of one requester, or of anybody.
 * Rows in another replica's hands are skipped, so that each is moved once.
 */
export async function expireOverdueApprovals(
  tx: Transaction,
  { requester, limit }: { requester: { orgId: string; id: string } | null; limit: number },
): Promise<Approval[]> {
  const moved = await tx<{ id: string }[]>`
    with due as (
      select org_id, id
        from approvals.approval
       where status in ('pending', 'bubbled')
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
  return approvalsOf(tx, moved);
}

/** Moves allowed calls that were not run in time to execution `expired`, and erases them. */
export async function expireOverdueExecutions(tx: Transaction, limit: number): Promise<Approval[]> {
  const moved = await tx<{ id: string }[]>`
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
  return approvalsOf(tx, moved);
}

/** Locks approvals that wait longer with their resolver than the org wants. */
export async function lockApprovalsToBubble(tx: Transaction, limit: number): Promise<Approval[]> {
  const rows = await tx<ApprovalRow[]>`
    ${selectApprovals(tx, { withResults: false })}
     where a.status in ('pending', 'bubbled')
       and a.bubble_at is not null
       and a.bubble_at <= now()
       and a.expires_at > now()
     order by a.bubble_at
     limit ${limit}
       for update of a skip locked
  `;
  return rows.map(toApproval);
}

/** Takes the requesters of open approvals whose chain nobody has looked at for a minute. */
export async function takeChainsToCheck(
  sql: Sql,
  limit: number,
): Promise<{ orgId: string; requesterId: string }[]> {
  const rows = await sql<{ org_id: string; requester_id: string }[]>`
    with due as (
      select org_id, id
        from approvals.approval
       where status in ('pending', 'bubbled')
         and chain_checked_at < now() - interval '1 minute'
       order by chain_checked_at
       limit ${limit}
         for update skip locked
    ), taken as (
      update approvals.approval a
         set chain_checked_at = now()
        from due
       where a.org_id = due.org_id
         and a.id = due.id
      returning a.org_id, a.requester_id
    )
    select distinct org_id, requester_id
      from taken
  `;
  return rows.map((row) => ({ orgId: row.org_id, requesterId: row.requester_id }));
}

async function approvalsOf(tx: Transaction, moved: readonly { id: string }[]): Promise<Approval[]> {
  if (moved.length === 0) return [];
  const rows = await tx<ApprovalRow[]>`
    ${selectApprovals(tx, { withResults: false })}
     where a.id in ${tx(moved.map((row) => row.id))}
     order by a.id
  `;
  return rows.map(toApproval);
}
