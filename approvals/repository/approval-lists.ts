import type { ApprovalStatus } from '#contracts/http/approvals';
import type { Sql } from '#database';
import type { Approval } from '../domain/approval.ts';
import { selectApprovals, toApproval } from './approval-row.ts';
import type { ApprovalRow } from './approval-row.ts';

interface ApprovalFilter {
  readonly orgId: string;
  /** Only approvals of requesters at or below this identity; null is the whole org. */
  readonly visibleTo: { readonly userId: string; readonly identityId: string } | null;
  readonly statuses: readonly ApprovalStatus[] | null;
  readonly requesterId: string | null;
  readonly resolverId: string | null;
  readonly service: string | null;
  /** The id that the page starts after, newest first. */
  readonly after: string | null;
  readonly limit: number;
}

/** A page of approvals, newest first (ids are in order of time), without stored results. */
export async function listApprovals(sql: Sql, filter: ApprovalFilter): Promise<Approval[]> {
  const { visibleTo, statuses, requesterId, resolverId, service, after } = filter;
  const rows = await sql<ApprovalRow[]>`
    ${selectApprovals(sql, { withResults: false })}
     where a.org_id = ${filter.orgId}
       ${visibleTo ? sql`and a.user_id = ${visibleTo.userId} and ${visibleTo.identityId} = any(a.chain)` : sql``}
       ${statuses ? sql`and a.status in ${sql([...statuses])}` : sql``}
       ${requesterId ? sql`and a.requester_id = ${requesterId}` : sql``}
       ${resolverId ? sql`and a.resolver_id = ${resolverId}` : sql``}
       ${service ? sql`and a.service = ${service}` : sql``}
       ${after ? sql`and a.id < ${after}` : sql``}
     order by a.id desc
     limit ${filter.limit}
  `;
  return rows.map(toApproval);
}

/**
 * Open approvals that a rule at this placement could make needless: the same service and
 * credential, because a planted rule is bound to both.
 */
export async function listOpenAtPlacement(
  sql: Sql,
  { orgId, placementId, serviceId, credentialId, id }: Approval,
  limit: number,
): Promise<Approval[]> {
  const rows = await sql<ApprovalRow[]>`
    ${selectApprovals(sql, { withResults: false })}
     where a.org_id = ${orgId}
       and a.placement_id = ${placementId}
       and a.service_id is not distinct from ${serviceId}
       and a.credential_id is not distinct from ${credentialId}
       and a.id <> ${id}
       and a.status in ('pending', 'bubbled')
       and a.expires_at > now()
     order by a.id
     limit ${limit}
  `;
  return rows.map(toApproval);
}

/** The requesters with open approvals at or below any of these identities. */
export async function listOpenRequesters(
  sql: Sql,
  { orgId, identityIds, limit }: { orgId: string; identityIds: readonly string[]; limit: number },
): Promise<string[]> {
  const rows = await sql<{ requester_id: string }[]>`
    select distinct requester_id
      from approvals.approval
     where org_id = ${orgId}
       and status in ('pending', 'bubbled')
       and chain && ${[...identityIds]}::uuid[]
     limit ${limit}
  `;
  return rows.map((row) => row.requester_id);
}

export async function listOpenApprovalIds(
  sql: Sql,
  { orgId, requesterId }: { orgId: string; requesterId: string },
): Promise<string[]> {
  const rows = await sql<{ id: string }[]>`
    select id
      from approvals.approval
     where org_id = ${orgId}
       and requester_id = ${requesterId}
       and status in ('pending', 'bubbled')
     order by id
     limit 1000
  `;
  return rows.map((row) => row.id);
}
