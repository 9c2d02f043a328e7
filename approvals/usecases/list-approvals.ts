import type { StoredApproval } from '#contracts/card';
import type { ApprovalStatus } from '#contracts/http/approvals';
import type { Principal } from '#contracts/vocabulary';
import { cursorOf, parseSingleCursor, positions } from '#database';
import type { Page, PageRequest } from '#database';
import type { Deps } from '../deps.ts';
import { presentApproval } from '../domain/present.ts';
import { relationshipTo } from '../domain/relationship.ts';
import { listApprovals as listRows } from '../repository/approval-lists.ts';

interface ListRequest {
  readonly principal: string;
  readonly page: PageRequest;
  readonly status: ApprovalStatus | 'open' | null;
  readonly requesterId: string | null;
  readonly assignedToMe: boolean;
  readonly service: string | null;
}

/** A page must fit into one message of the bus; one approval may be half a megabyte. */
const pageBytesMax = 2_500_000;

/**
 * Approvals of the caller's own subtree, or of the whole org for admins and auditors, newest
 * first. A page ends early when it grows large; results of executions are left to `get`.
 */
export async function listApprovals(
  { db, readPrincipal }: Deps,
  { principal: signed, page, status, requesterId, assignedToMe, service }: ListRequest,
): Promise<Page<StoredApproval>> {
  const viewer = readPrincipal(signed);
  const rows = await listRows(db, {
    orgId: viewer.orgId,
    visibleTo: seesWholeOrg(viewer)
      ? null
      : { userId: viewer.userId, identityId: viewer.identityId },
    statuses: status === 'open' ? ['pending', 'bubbled'] : status && [status],
    requesterId,
    resolverId: assignedToMe ? viewer.identityId : null,
    service,
    after: parseSingleCursor(page.cursor, positions.id),
    limit: page.limit + 1,
  });

  const items: StoredApproval[] = [];
  let bytes = 0;
  for (const row of rows.slice(0, page.limit)) {
    const item = presentApproval(row, relationshipTo(row, viewer));
    bytes += Buffer.byteLength(JSON.stringify(item));
    if (items.length > 0 && bytes > pageBytesMax) break;
    items.push(item);
  }
  const last = items.at(-1);
  return { items, next_cursor: last && items.length < rows.length ? cursorOf([last.id]) : null };
}

function seesWholeOrg({ role }: Principal): boolean {
  return role === 'admin' || role === 'auditor';
}
