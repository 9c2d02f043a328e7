import type { IdentityReference } from '#contracts/vocabulary';
import type { Sql } from '#database';
import { openStatuses } from '../approval/approval-row.sql.ts';
import type { ApprovalKey } from '../approval/approval.sql.ts';
import type { Resolution } from '../approval/domain/approval.ts';

interface AllowFields extends ApprovalKey {
  readonly resolution: Exclude<Resolution, 'deny'>;
  readonly resolvedBy: IdentityReference;
  readonly reason: string | null;
  readonly cascadedFrom: string | null;
  /** The decision, signed by auth. */
  readonly decision: string;
  /**
   * The permission gap on which the decision was made, if it is the gap of another approval (a
   * cascade).
   */
  readonly decidedGap: string | null;
}

interface DenyFields extends ApprovalKey {
  /** Null when nobody decided: the call was cancelled, or its requester was revoked. */
  readonly resolution: 'deny' | null;
  readonly resolvedBy: IdentityReference | null;
  readonly reason: string | null;
}

/**
 * Moves an open approval to `allowed`; false if the approval was no longer open.
 *
 * The update itself checks the state and the time, so that any number of resolvers can decide at
 * once and exactly one succeeds.
 */
export async function allowOpenApproval(
  sql: Sql,
  {
    orgId,
    approvalId,
    resolution,
    resolvedBy,
    decision,
    decidedGap,
    reason,
    cascadedFrom,
  }: AllowFields,
): Promise<boolean> {
  const rows = await sql`
    update approvals.approval
       set status = 'allowed', resolution = ${resolution}, reason = ${reason}, bubble_at = null,
           resolved_by = ${sql.json(resolvedBy)}, resolved_by_id = ${resolvedBy.id},
           decision = ${decision}, decided_gap = ${decidedGap}, resolved_at = now(),
           cascaded_from = ${cascadedFrom}
     where org_id = ${orgId}
       and id = ${approvalId}
       and status in ${openStatuses(sql)}
       and expires_at > now()
    returning id
  `;
  return rows.length === 1;
}

/**
 * Moves an open approval to `denied` and erases its call; false if the approval was no longer open.
 */
export async function denyOpenApproval(
  sql: Sql,
  { orgId, approvalId, resolution, resolvedBy, reason }: DenyFields,
): Promise<boolean> {
  const rows = await sql`
    update approvals.approval
       set status = 'denied', resolution = ${resolution}, reason = ${reason}, bubble_at = null,
           resolved_by = ${resolvedBy && sql.json(resolvedBy)},
           resolved_by_id = ${resolvedBy?.id ?? null}, resolved_at = now(), gap = null,
           sealed_call = null
     where org_id = ${orgId}
       and id = ${approvalId}
       and status in ${openStatuses(sql)}
       and expires_at > now()
    returning id
  `;
  return rows.length === 1;
}

/**
 * Hands an open approval from one resolver to another; false if the approval has been handed to
 * another resolver in the meantime.
 */
export async function moveUpOpenApproval(
  sql: Sql,
  {
    orgId,
    approvalId,
    from,
    to,
    isTop,
  }: ApprovalKey & { from: string; to: string; isTop: boolean },
): Promise<boolean> {
  const rows = await sql`
    update approvals.approval
       set status = 'bubbled', resolver_id = ${to},
           bubble_at = case
                         when not ${isTop}::boolean and auto_bubble_seconds > 0
                         then now() + make_interval(secs => auto_bubble_seconds)
                       end
     where org_id = ${orgId}
       and id = ${approvalId}
       and resolver_id = ${from}
       and status in ${openStatuses(sql)}
       and expires_at > now()
    returning id
  `;
  return rows.length === 1;
}
