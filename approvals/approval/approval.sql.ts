import type { Sql, Transaction } from '#database';
import { openStatuses, selectApprovals, toApproval } from './approval-row.sql.ts';
import type { ApprovalRow } from './approval-row.sql.ts';
import type { Approval, ApprovalCard } from './domain/approval.ts';
import type { LadderStep } from './domain/ladder.ts';

export interface ApprovalKey {
  readonly orgId: string;
  readonly approvalId: string;
}

interface IdenticalCall {
  readonly orgId: string;
  readonly requesterId: string;
  readonly callDigest: string;
}

interface NewApproval extends IdenticalCall {
  readonly id: string;
  readonly userId: string;
  readonly subtreeId: string;
  readonly chain: readonly string[];
  readonly resolverId: string;
  readonly ladder: readonly LadderStep[];
  readonly autoBubbleSeconds: number;
  /**
   * Whether an ancestor above the resolver may decide too, so that the approval can be handed up
   * after a time.
   */
  readonly canBubble: boolean;
  readonly placementId: string;
  readonly service: string;
  readonly serviceId: string | null;
  readonly credentialId: string | null;
  readonly risk: Approval['risk'];
  readonly nonRead: boolean;
  readonly gapId: string;
  readonly gapDigest: string;
  readonly cardMac: string;
  readonly requestDigest: string;
  readonly timeoutMs: number;
  readonly autoCallOnApprove: boolean;
  readonly card: ApprovalCard;
  readonly searchText: string;
  readonly gap: string;
  readonly sealedCall: string;
  /**
   * When policy found that nothing allows the call. The MAC of the approval card covers this time.
   */
  readonly createdAt: Date;
  readonly ttlSeconds: number;
}

export async function findApproval(
  sql: Sql,
  { orgId, approvalId }: ApprovalKey,
): Promise<Approval | undefined> {
  const [row] = await sql<ApprovalRow[]>`
    ${selectApprovals(sql, { withResults: true })}
     where a.org_id = ${orgId}
       and a.id = ${approvalId}
  `;
  return row && toApproval(row);
}

/**
 * The approval of an identical call by this requester: one that is open, one that is allowed and
 * has not ended, or one that was denied within the last ten minutes. Cancelled and revoked
 * approvals do not count, because nobody decided on the call.
 */
export async function findIdenticalCall(
  sql: Sql,
  { orgId, requesterId, callDigest }: IdenticalCall,
): Promise<Approval | undefined> {
  const [row] = await sql<ApprovalRow[]>`
    ${selectApprovals(sql, { withResults: true })}
     where a.org_id = ${orgId}
       and a.requester_id = ${requesterId}
       and a.call_digest = ${callDigest}
       and (   (a.status in ${openStatuses(sql)} and a.expires_at > now())
            or (a.status = 'allowed' and e.status = 'pending' and e.expires_at > now())
            or (a.status = 'allowed' and e.status = 'executing')
            or (a.status = 'denied' and a.resolution = 'deny'
                and a.resolved_at > now() - interval '10 minutes'))
     order by a.id desc
     limit 1
  `;
  return row && toApproval(row);
}

/**
 * Takes a lock until the transaction ends, so that an agent's subtree raises one approval at a
 * time. Otherwise concurrent requests could each count too few approvals and exceed the limits.
 */
export async function lockSubtree(
  tx: Transaction,
  { orgId, subtreeId }: { orgId: string; subtreeId: string },
): Promise<void> {
  await tx`select pg_advisory_xact_lock(hashtextextended(${`raise ${orgId} ${subtreeId}`}, 0))`;
}

export async function countOpenApprovals(
  sql: Sql,
  { orgId, requesterId, subtreeId }: { orgId: string; requesterId: string; subtreeId: string },
): Promise<{ requesterCount: number; subtreeCount: number }> {
  const [row] = await sql<{ of_requester: number; in_subtree: number }[]>`
    select count(*) filter (where requester_id = ${requesterId})::int as of_requester,
           count(*)::int as in_subtree
      from approvals.approval
     where org_id = ${orgId}
       and subtree_id = ${subtreeId}
       and status in ${openStatuses(sql)}
       and expires_at > now()
  `;
  return { requesterCount: row?.of_requester ?? 0, subtreeCount: row?.in_subtree ?? 0 };
}

/** Returns false when an approval with this id exists already. */
export async function insertApproval(sql: Sql, approval: NewApproval): Promise<boolean> {
  const bubblesInSeconds = approval.canBubble ? approval.autoBubbleSeconds : null;
  const rows = await sql`
    insert into approvals.approval
      (id, org_id, status, requester_id, user_id, subtree_id, chain, resolver_id, ladder,
       auto_bubble_seconds, bubble_at, placement_id, service, service_id, credential_id, risk,
       non_read, call_digest, request_digest, timeout_ms, auto_call_on_approve, card, gap,
       gap_id, gap_digest, card_mac, sealed_call, search_text, created_at, expires_at)
    values
      (${approval.id}, ${approval.orgId}, 'pending', ${approval.requesterId}, ${approval.userId},
       ${approval.subtreeId}, ${[...approval.chain]}::uuid[], ${approval.resolverId},
       ${sql.json([...approval.ladder])}, ${approval.autoBubbleSeconds},
       now() + make_interval(secs => ${bubblesInSeconds}), ${approval.placementId}, ${approval.service},
       ${approval.serviceId}, ${approval.credentialId}, ${approval.risk}, ${approval.nonRead},
       ${approval.callDigest}, ${approval.requestDigest}, ${approval.timeoutMs},
       ${approval.autoCallOnApprove}, ${JSON.stringify(approval.card)}, ${approval.gap},
       ${approval.gapId}, ${approval.gapDigest}, ${approval.cardMac}, ${approval.sealedCall},
       ${approval.searchText}, ${approval.createdAt}, ${approval.createdAt}::timestamptz + make_interval(secs => ${approval.ttlSeconds}))
    on conflict (id) do nothing
    returning id
  `;
  return rows.length === 1;
}

export interface FrozenCall {
  readonly gap: string;
  readonly sealedCall: string;
  /** Auth's signed decision; null in approvals allowed before decisions were signed. */
  readonly decision: string | null;
  /**
   * The permission gap on which the decision was made, if it is the gap of another approval (a
   * cascade).
   */
  readonly decidedGap: string | null;
}

/**
 * The permission gap that policy signed, the sealed call and the decision; undefined once they are
 * erased.
 */
export async function findFrozenCall(
  sql: Sql,
  { orgId, approvalId }: ApprovalKey,
): Promise<FrozenCall | undefined> {
  const [row] = await sql<FrozenCall[]>`
    select gap, sealed_call as "sealedCall", decision, decided_gap as "decidedGap"
      from approvals.approval
     where org_id = ${orgId}
       and id = ${approvalId}
       and sealed_call is not null
  `;
  return row;
}

/** Finds the permission gap that policy signed. The checks before a decision need it. */
export async function findGap(
  sql: Sql,
  { orgId, approvalId }: ApprovalKey,
): Promise<string | undefined> {
  const [row] = await sql<{ gap: string | null }[]>`
    select gap
      from approvals.approval
     where org_id = ${orgId}
       and id = ${approvalId}
  `;
  return row?.gap ?? undefined;
}

export async function eraseFrozenCall(sql: Sql, { orgId, approvalId }: ApprovalKey): Promise<void> {
  await sql`
    update approvals.approval
       set gap = null, sealed_call = null, decision = null, decided_gap = null
     where org_id = ${orgId}
       and id = ${approvalId}
  `;
}
