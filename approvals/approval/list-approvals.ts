import * as z from 'zod';

import { approvalStatuses, isOpenApproval, openStatuses } from '#contracts/approval-status';
import type { ApprovalStatus } from '#contracts/approval-status';
import type { StoredApproval } from '#contracts/card';
import type { Principal, Risk } from '#contracts/vocabulary';
import { cursorOf, parseCursor, parseSingleCursor, positions } from '#database';
import type { Page, PageRequest } from '#database';
import type { Deps } from '../deps.ts';
import { areDecided, findApprovals, lookThroughApprovals } from './approval-lists.sql.ts';
import type { ApprovalFilter, FoundApproval, ListPosition } from './approval-lists.sql.ts';
import { toSearchText } from './domain/search-text.ts';
import { presentApproval } from './domain/present.ts';
import { relationshipTo } from './domain/relationship.ts';

interface ListRequest {
  readonly principal: string;
  readonly page: PageRequest;
  readonly status: ApprovalStatus | 'open' | null;
  readonly requesterId: string | null;
  readonly assignedToMe: boolean;
  readonly service: string | null;
  readonly further?: FurtherConditions | undefined;
}

interface FurtherConditions {
  readonly isDecided: boolean;
  readonly words: readonly string[];
  readonly risk: Risk | null;
  readonly isOldestFirst: boolean;
}

const noConditions = { isDecided: false, words: [], risk: null, isOldestFirst: false };

const decidedStatuses = approvalStatuses.filter((status) => !isOpenApproval({ status }));

/**
 * Limits the cards of one page in bytes, because every component that passes a page on has to parse
 * and write it. An ordinary card has 3 kB, but a card may have half a megabyte: the agent that asks
 * determines its size.
 */
const cardBytesMax = 524_288;

/**
 * The most approvals that one page looks at, and the most that one statement looks at. Statements
 * are short so that the lists of all orgs take turns.
 */
const lookedThroughMax = 10_000;
const lookedAtOnceMax = 2_000;
/**
 * After this time a page is returned with what was found so far, so that the caller does not wait
 * long.
 */
const lookingThroughMsMax = 60;

/**
 * Lists approvals of the caller's own subtree, or of the whole org for admins and auditors. Decided
 * approvals are in the order of the decisions, others in the order of raising. A page ends early
 * when it grows large or when many approvals were looked at. Lists leave out the results of
 * executions.
 */
export async function listApprovals(
  { db, readPrincipal }: Deps,
  {
    principal: signed,
    page,
    status,
    requesterId,
    assignedToMe,
    service,
    further: { isDecided, words, risk, isOldestFirst } = noConditions,
  }: ListRequest,
): Promise<Page<StoredApproval>> {
  const viewer = readPrincipal(signed);
  const filter: ApprovalFilter = {
    orgId: viewer.orgId,
    visibleTo: seesWholeOrg(viewer)
      ? null
      : { userId: viewer.userId, identityId: viewer.identityId },
    statuses: isDecided ? decidedStatuses : status === 'open' ? openStatuses : status && [status],
    requesterId,
    resolverId: assignedToMe ? viewer.identityId : null,
    service,
    words: words.map(toSearchText),
    risk,
    isOldestFirst,
  };
  const after = readCursor(page.cursor, areDecided(filter.statuses));
  const { found, end } = await findPage(db, filter, { after, limit: page.limit + 1 });
  const fittingApprovals = takeSendable(found.slice(0, page.limit));
  const approvals = await findApprovals(db, {
    orgId: viewer.orgId,
    ids: fittingApprovals.map(({ position }) => position.id),
  });
  const last = fittingApprovals.length < found.length ? fittingApprovals.at(-1)?.position : end;
  return {
    items: approvals.map((approval) => presentApproval(approval, relationshipTo(approval, viewer))),
    next_cursor: last ? toCursor(last) : null,
  };
}

/**
 * Finds the approvals of a page, and the position at which to continue unless the list has ended.
 */
async function findPage(
  db: Deps['db'],
  filter: ApprovalFilter,
  { after, limit }: { after: ListPosition | null; limit: number },
): Promise<{ found: FoundApproval[]; end: ListPosition | null }> {
  const stopAtMs = performance.now() + lookingThroughMsMax;
  const found: FoundApproval[] = [];
  let end = after;
  let lookedAt = 0;
  // Most lists find enough in the first rows.
  let lookAtMax = limit;
  do {
    const lookedThrough = await lookThroughApprovals(db, filter, {
      after: end,
      lookAtMax,
      limit: limit - found.length,
    });
    found.push(...lookedThrough.found);
    end = lookedThrough.end;
    lookedAt += lookAtMax;
    lookAtMax = lookedAtOnceMax;
  } while (
    end !== null &&
    found.length < limit &&
    lookedAt < lookedThroughMax &&
    performance.now() < stopAtMs
  );
  return { found, end };
}

/** Cards that do not fit into the page are not even read. */
function takeSendable(found: readonly FoundApproval[]): FoundApproval[] {
  let bytes = 0;
  return found.filter(({ cardBytes }, index) => {
    bytes += cardBytes;
    return index === 0 || bytes <= cardBytesMax;
  });
}

function toCursor({ id, decidedAtMicros }: ListPosition): string {
  return cursorOf(decidedAtMicros === null ? [id] : [decidedAtMicros, id]);
}

function readCursor(cursor: string | null, isByDecision: boolean): ListPosition | null {
  if (!isByDecision) {
    const id = parseSingleCursor(cursor, positions.id);
    return id === null ? null : { id, decidedAtMicros: null };
  }
  const position = parseCursor(cursor, decidedPosition);
  return position === null ? null : { decidedAtMicros: position[0], id: position[1] };
}

const decidedPosition = z.tuple([z.int().positive(), z.uuid()]);

function seesWholeOrg({ role }: Principal): boolean {
  return role === 'admin' || role === 'auditor';
}
