import type { CallResult } from '#contracts/call';
import type { Sql, Transaction } from '#database';
import type { ApprovalKey } from '../approval/approval.sql.ts';
import type { Execution, ExecutionError, ReplayTrigger } from '../approval/domain/approval.ts';

/** A claimed execution, which this process may run until its lease ends. */
export interface Claim extends ApprovalKey {
  readonly executionId: string;
  readonly fence: string;
  readonly attempts: number;
  /** Whether this claim moved the execution out of `pending`. */
  readonly isFirstClaim: boolean;
  /** Whether an earlier attempt may have sent its request to the executor. */
  readonly wasExecutorAsked: boolean;
  /** Whether the 15 minutes for the replay are over, so that the call must no longer be sent. */
  readonly isOverdue: boolean;
}

interface ClaimRow {
  org_id: string;
  approval_id: string;
  id: string;
  fence: string;
  attempts: number;
  is_overdue: boolean;
  was_asked: boolean;
}

/**
 * The time after which any replica may take over an execution whose lease was not renewed
 * (docs/reference/approvals.md#execution).
 */
const leaseSeconds = 15;

export async function insertExecution(
  sql: Sql,
  {
    id,
    orgId,
    approvalId,
    runtime,
    automatic,
    traceparent,
  }: ApprovalKey & Pick<Execution, 'id' | 'runtime' | 'traceparent'> & { automatic: boolean },
): Promise<void> {
  await sql`
    insert into approvals.execution
      (id, org_id, approval_id, status, runtime, automatic, traceparent, expires_at)
    values
      (${id}, ${orgId}, ${approvalId}, 'pending', ${runtime}, ${automatic}, ${traceparent},
       now() + interval '15 minutes')
  `;
}

/**
 * Claims one execution for a caller that waits for its result; undefined when the execution is no
 * longer `pending` or has expired.
 */
export async function claimExecution(
  sql: Sql,
  { orgId, approvalId, trigger }: ApprovalKey & { trigger: ReplayTrigger },
): Promise<Claim | undefined> {
  const [row] = await sql<ClaimRow[]>`
    update approvals.execution
       set status = 'executing', triggered_by = ${trigger}, started_at = now(),
           fence = nextval('approvals.execution_fence'),
           lease_until = now() + make_interval(secs => ${leaseSeconds}), attempts = attempts + 1
     where org_id = ${orgId}
       and approval_id = ${approvalId}
       and status = 'pending'
       and expires_at > now()
    returning org_id, approval_id, id, fence, attempts, false as is_overdue, false as was_asked
  `;
  return row && toClaim(row, true);
}

/** Claims executions for automatic replay. Skips rows that other replicas have locked. */
export async function claimPendingExecutions(tx: Transaction, limit: number): Promise<Claim[]> {
  const rows = await tx<ClaimRow[]>`
    with due as (
      select org_id, id
        from approvals.execution
       where status = 'pending'
         and automatic
         and expires_at > now()
       order by created_at
       limit ${limit}
         for update skip locked
    )
    update approvals.execution e
       set status = 'executing', triggered_by = 'auto', started_at = now(),
           fence = nextval('approvals.execution_fence'),
           lease_until = now() + make_interval(secs => ${leaseSeconds}), attempts = attempts + 1
      from due
     where e.org_id = due.org_id
       and e.id = due.id
    returning e.org_id, e.approval_id, e.id, e.fence, e.attempts, false as is_overdue,
              false as was_asked
  `;
  return rows.map((row) => toClaim(row, true));
}

/**
 * Claims executions whose lease has ended, because the process that ran them died, or postponed
 * them to another attempt.
 */
export async function takeOverExecutions(sql: Sql, limit: number): Promise<Claim[]> {
  const rows = await sql<ClaimRow[]>`
    with due as (
      select org_id, id
        from approvals.execution
       where status = 'executing'
         and lease_until < now()
       order by lease_until
       limit ${limit}
         for update skip locked
    )
    update approvals.execution e
       set fence = nextval('approvals.execution_fence'),
           lease_until = now() + make_interval(secs => ${leaseSeconds}), attempts = attempts + 1
      from due
     where e.org_id = due.org_id
       and e.id = due.id
    returning e.org_id, e.approval_id, e.id, e.fence, e.attempts,
              e.expires_at <= now() as is_overdue, e.asked_at is not null as was_asked
  `;
  return rows.map((row) => toClaim(row, false));
}

/** Renews the leases of these claims, except those that another process has claimed since. */
export async function renewLeases(sql: Sql, claims: readonly Claim[]): Promise<void> {
  await sql`
    update approvals.execution e
       set lease_until = now() + make_interval(secs => ${leaseSeconds})
      from unnest(${claims.map((claim) => claim.orgId)}::uuid[],
                  ${claims.map((claim) => claim.executionId)}::uuid[],
                  ${claims.map((claim) => claim.fence)}::bigint[]) as held (org_id, id, fence)
     where e.org_id = held.org_id
       and e.id = held.id
       and e.fence = held.fence
       and e.status = 'executing'
  `;
}

/**
 * Records that the executor is about to be asked. Returns false when another process has claimed
 * the execution, for example because this process was paused until its lease ended. Then this
 * process must not ask the executor.
 */
export async function markExecutorAsked(
  sql: Sql,
  { orgId, executionId, fence }: Claim,
): Promise<boolean> {
  const rows = await sql`
    update approvals.execution
       set asked_at = coalesce(asked_at, now())
     where org_id = ${orgId}
       and id = ${executionId}
       and status = 'executing'
       and fence = ${fence}
       and lease_until > now()
    returning id
  `;
  return rows.length === 1;
}

/** Gives up a claim. Any replica may claim the execution again after `delayMs`. */
export async function postponeExecution(
  sql: Sql,
  { orgId, executionId, fence }: Claim,
  { delayMs, wasNotSent }: { delayMs: number; wasNotSent: boolean },
): Promise<void> {
  await sql`
    update approvals.execution
       set lease_until = now() + make_interval(secs => ${delayMs / 1000}),
           asked_at = case when not ${wasNotSent}::boolean then asked_at end
     where org_id = ${orgId}
       and id = ${executionId}
       and status = 'executing'
       and fence = ${fence}
  `;
}

export type ExecutionEnd =
  | { readonly status: 'executed'; readonly result: CallResult; readonly auditId: string }
  | { readonly status: 'failed'; readonly error: ExecutionError; readonly auditId: string | null };

/**
 * Stores how a claimed execution ended; false when another process has claimed it in the meantime.
 */
export async function finishExecution(
  sql: Sql,
  { orgId, executionId, fence }: Claim,
  end: ExecutionEnd,
): Promise<boolean> {
  const result = end.status === 'executed' ? end.result : null;
  const error = end.status === 'failed' ? end.error : null;
  const rows = await sql`
    update approvals.execution
       set status = ${end.status}, finished_at = now(), lease_until = null,
           http_status_code = ${result?.status_code ?? null},
           result = ${result && JSON.stringify(result)}, error = ${error && JSON.stringify(error)},
           audit_id = ${end.auditId}
     where org_id = ${orgId}
       and id = ${executionId}
       and status = 'executing'
       and fence = ${fence}
    returning id
  `;
  return rows.length === 1;
}

/**
 * Cancels an allowed call that was not started; false when the call was already started or has
 * ended.
 */
export async function cancelPendingExecution(
  sql: Sql,
  { orgId, approvalId }: ApprovalKey,
): Promise<boolean> {
  const rows = await sql`
    update approvals.execution
       set status = 'cancelled', finished_at = now()
     where org_id = ${orgId}
       and approval_id = ${approvalId}
       and status = 'pending'
       and expires_at > now()
    returning id
  `;
  return rows.length === 1;
}

function toClaim(row: ClaimRow, isFirst: boolean): Claim {
  return {
    orgId: row.org_id,
    approvalId: row.approval_id,
    executionId: row.id,
    fence: row.fence,
    attempts: row.attempts,
    isFirstClaim: isFirst,
    wasExecutorAsked: row.was_asked,
    isOverdue: row.is_overdue,
  };
}
