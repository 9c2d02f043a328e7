import type { Sql } from '#database';
import type { Backlog } from '#telemetry';
import { openStatuses } from '../approval/approval-row.sql.ts';

// The time limits of all orgs are checked together, so these statements filter by no org. They find
// what is due and return the org_id of each row.

interface DueWork {
  readonly replays: boolean;
  readonly approvalExpiries: boolean;
  readonly executionExpiries: boolean;
  readonly bubbles: boolean;
  readonly chainChecks: boolean;
  readonly searchTexts: boolean;
}

/** Whether any time limit has ended. This one cheap statement is all that an idle replica runs. */
export async function findDueWork(sql: Sql): Promise<DueWork> {
  const [row] = await sql<
    {
      replays: boolean;
      approval_expiries: boolean;
      execution_expiries: boolean;
      bubbles: boolean;
      chain_checks: boolean;
      search_texts: boolean;
    }[]
  >`
    select exists (select from approvals.execution
                    where status = 'pending' and automatic and expires_at > now())
           or exists (select from approvals.execution
                       where status = 'executing' and lease_until < now()) as replays,
           exists (select from approvals.approval
                    where status in ${openStatuses(sql)}
                      and expires_at <= now()) as approval_expiries,
           exists (select from approvals.execution
                    where status = 'pending' and expires_at <= now()) as execution_expiries,
           exists (select from approvals.approval
                    where status in ${openStatuses(sql)} and bubble_at is not null
                      and bubble_at <= now()) as bubbles,
           exists (select from approvals.approval
                    where status in ${openStatuses(sql)}
                      and chain_checked_at < now() - interval '1 minute') as chain_checks,
           exists (select from approvals.approval where search_text is null) as search_texts
  `;
  return {
    replays: row?.replays ?? false,
    approvalExpiries: row?.approval_expiries ?? false,
    executionExpiries: row?.execution_expiries ?? false,
    bubbles: row?.bubbles ?? false,
    chainChecks: row?.chain_checks ?? false,
    searchTexts: row?.search_texts ?? false,
  };
}

const countedApprovalsMax = 10_000;

/**
 * The approvals of all orgs that wait for a person, counted up to 10,000. Beyond that number the
 * age of the oldest is not exact.
 */
export async function measureWaitingApprovals(sql: Sql): Promise<Backlog> {
  const [row] = await sql<Backlog[]>`
    select count(*)::integer as waiting,
           coalesce(extract(epoch from now() - min(created_at)), 0)::float8 as "oldestSeconds"
      from (select created_at
              from approvals.approval
             where status in ${openStatuses(sql)}
               and expires_at > now()
             order by expires_at
             limit ${countedApprovalsMax}) as waiting
  `;
  return row ?? { waiting: 0, oldestSeconds: 0 };
}

/**
 * Returns requesters of open approvals whose chain was not checked within the last minute, and
 * marks them as checked.
 */
export async function takeChainsToCheck(
  sql: Sql,
  limit: number,
): Promise<{ orgId: string; requesterId: string }[]> {
  const rows = await sql<{ org_id: string; requester_id: string }[]>`
    with due as (
      select org_id, id
        from approvals.approval
       where status in ${openStatuses(sql)}
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
