import type { CallResult } from '#contracts/call';
import type { Sql, Transaction } from '#database';
import type { Execution, ExecutionError, Trigger } from '../domain/approval.ts';
import type { ApprovalKey } from './approval.ts';

/** An execution in our hands until its lease passes. */
export interface Claim extends ApprovalKey {
  readonly executionId: string;
  readonly fence: string;
  readonly attempts: number;
  /** This claim moved it out of `pending`. */
  readonly isFirst: boolean;
  /** An earlier attempt may have reached the executor. */
  readonly wasAsked: boolean;
  /** The 15 minutes are over: it must not be sent any more. */
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

/** After this time without a renewal any replica may take an execution over (docs/reference/approvals.md#execution). */
const leaseSeconds = 15;

export async function insertExecution(
  sql: Sql,
  {
    id,
    orgId,
    approvalId,
    runtime,
    automatic,
  }: ApprovalKey & { id: string; runtime: Execution['runtime']; automatic: boolean },
): Promise<void> {
  await sql`
    insert into approvals.execution
      (id, org_id, approval_id, status, runtime, automatic, expires_at)
    values
      (${id}, ${orgId}, ${approvalId}, 'pending', ${runtime}, ${automatic},
       now() + interval '15 minutes')
  `;
}

/** Claims one execution for a caller who waits for it; undefined if it is not `pending` any more, or too late. */
export async function claimExecution(
  sql: Sql,
  { orgId, approvalId, trigger }: ApprovalKey & { trigger: Trigger },
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

/** Claims what is to be replayed in the background; other replicas' claims are skipped. */
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

/** Claims executions whose holder died, or that are to be asked about again. */
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

/** Keeps what is in our hands ours; what another has claimed since is left alone. */
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
 * Notes that the executor is about to be asked; false when the claim is not ours any more, and
 * then it must not be. A process that was stopped past its lease learns it here.
 */
export async function markAsked(sql: Sql, { orgId, executionId, fence }: Claim): Promise<boolean> {
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

/** Gives a claim back, to be taken up again by anybody after `delayMs`. */
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

export type End =
  | { readonly status: 'executed'; readonly result: CallResult; readonly auditId: string }
  | { readonly status: 'failed'; readonly error: ExecutionError; readonly auditId: string | null };

/** Stores how a claimed execution ended; false when the claim is not ours any more. */
export async function finishExecution(
  sql: Sql,
  { orgId, executionId, fence }: Claim,
  end: End,
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

/** Cancels an allowed call that nobody has started; false if somebody has, or it is over. */
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
    isFirst,
    wasAsked: row.was_asked,
    isOverdue: row.is_overdue,
  };
}
