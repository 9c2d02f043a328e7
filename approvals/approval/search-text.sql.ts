import type { Sql } from '#database';
import type { ApprovalKey } from './approval.sql.ts';

interface UnsearchableApproval extends ApprovalKey {
  readonly service: string;
  /** JSON text. */
  readonly card: string;
}

/**
 * Lists, across orgs, approvals that an earlier release raised without a search text, newest first.
 */
export async function listWithoutSearchText(
  sql: Sql,
  { beforeId, limit }: { beforeId: string | null; limit: number },
): Promise<UnsearchableApproval[]> {
  const rows = await sql<{ org_id: string; id: string; service: string; card: string }[]>`
    select org_id, id, service, card
      from approvals.approval
     where search_text is null
       ${beforeId === null ? sql`` : sql`and id < ${beforeId}`}
     order by id desc
     limit ${limit}
  `;
  return rows.map(({ org_id: orgId, id: approvalId, service, card }) => ({
    orgId,
    approvalId,
    service,
    card,
  }));
}

export async function storeSearchText(
  sql: Sql,
  { orgId, approvalId, searchText }: ApprovalKey & { searchText: string },
): Promise<void> {
  await sql`
    update approvals.approval
       set search_text = ${searchText}
     where org_id = ${orgId}
       and id = ${approvalId}
       and search_text is null
  `;
}
