import type { IdentityReference } from '#contracts/vocabulary';
import type { Sql } from '#database';
import type { Resolution } from '../domain/approval.ts';
import type { ApprovalKey } from './approval.ts';

interface AllowFields extends ApprovalKey {
  readonly resolution: Exclude<Resolution, 'deny'>;
  readonly resolvedBy: IdentityReference;
  readonly reason: string | null;
  readonly cascadedFrom: string | null;
  /** Set when the requester decides for itself: by which client. */
  readonly selfClientId: string | null;
}

interface DenyFields extends ApprovalKey {
  /** Null when nobody decided: the call was cancelled, or its requester revoked. */
  readonly resolution: 'deny' | null;
  readonly resolvedBy: IdentityReference | null;
  readonly reason: string | null;
}

/**
 * Moves an open approval to `allowed`; the time of it, or undefined if it was not open any more.
 *
 * The state and the clock are checked in the update itself, so that any number of resolvers can
 * race and exactly one wins.
 */
export async function allowOpenApproval(
  sql: Sql,
  { orgId, approvalId, resolution, resolvedBy, selfClientId, reason, cascadedFrom }: AllowFields,
): Promise<Date | undefined> {
  const [row] = await sql<{ resolved_at: Date }[]>`
    update approvals.approval
       set status = 'allowed', resolution = ${resolution}, reason = ${reason}, bubble_at = null,
           resolved_by = ${sql.json(resolvedBy)}, resolved_by_id = ${resolvedBy.id},
           resolved_by_client_id = ${selfClientId}, resolved_at = now(),
           cascaded_from = ${cascadedFrom}
     where org_id = ${orgId}
       and id = ${approvalId}
       and status in ('pending', 'bubbled')
       and expires_at > now()
    returning resolved_at
  `;
  return row?.resolved_at;
}

/** Moves an open approval to `denied` and erases its call; false if it was not open any more. */
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
       and status in ('pending', 'bubbled')
       and expires_at > now()
    returning id
  `;
  return rows.length === 1;
}

/** Hands an open approval from one resolver to another; false if it is not with that one any more. */
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
       and status in ('pending', 'bubbled')
       and expires_at > now()
    returning id
  `;
  return rows.length === 1;
}
