import { isOpenApproval } from '#contracts/approval-status';
import type { ApprovalStatus } from '#contracts/approval-status';
import type { Risk } from '#contracts/vocabulary';
import type { Sql } from '#database';
import { openStatuses, selectApprovals, toApproval } from './approval-row.sql.ts';
import type { ApprovalRow } from './approval-row.sql.ts';
import type { Approval } from './domain/approval.ts';

export interface ApprovalFilter {
  readonly orgId: string;
  /**
   * Lists only the approvals of requesters at or below this identity; null lists those of the whole
   * org.
   */
  readonly visibleTo: { readonly userId: string; readonly identityId: string } | null;
  readonly statuses: readonly ApprovalStatus[] | null;
  readonly requesterId: string | null;
  readonly resolverId: string | null;
  readonly service: string | null;
  readonly risk: Risk | null;
  /** Texts in lower case. A listed approval contains all of them in its search text. */
  readonly words: readonly string[];
  readonly isOldestFirst: boolean;
}

/** The position of an approval in a list. */
export interface ListPosition {
  readonly id: string;
  /**
   * Microseconds since the epoch, as precise as Postgres stores it; null in lists in the order of
   * raising.
   */
  readonly decidedAtMicros: number | null;
}

/**
 * A listed approval, and the size of its card in bytes. The sizes limit how many approvals a page
 * has.
 */
export interface FoundApproval {
  readonly position: ListPosition;
  readonly cardBytes: number;
}

interface LookedThrough {
  readonly found: readonly FoundApproval[];
  /** The last approval that was looked at; null when there are no more approvals after it. */
  readonly end: ListPosition | null;
}

interface LookedThroughRow {
  readonly found: readonly (readonly [...position: PositionValues, cardBytes: number])[];
  readonly looked_at: number;
  readonly last: PositionValues | null;
}

type PositionValues = readonly [id: string, decidedAtMicros: number | null];

/**
 * Whether all these statuses are of decided approvals. Lists of decided approvals are in the order
 * of the decisions.
 */
export function areDecided(statuses: readonly ApprovalStatus[] | null): boolean {
  return statuses !== null && statuses.every((status) => !isOpenApproval({ status }));
}

/**
 * Looks at a limited number of approvals after a position, and finds those that the filter lists.
 * Conditions without an index are tested only on these approvals, so the number also limits what
 * the database reads.
 */
export async function lookThroughApprovals(
  sql: Sql,
  filter: ApprovalFilter,
  { after, lookAtMax, limit }: { after: ListPosition | null; lookAtMax: number; limit: number },
): Promise<LookedThrough> {
  const isByDecision = areDecided(filter.statuses);
  const direction = filter.isOldestFirst ? sql`` : sql`desc`;
  const decidedOrder = isByDecision ? sql`a.resolved_at ${direction},` : sql``;
  const micros = isByDecision ? sql`extract(epoch from a.resolved_at) * 1000000` : sql`null`;
  const [row] = await sql<LookedThroughRow[]>`
    with looked_at as materialized (
      select a.id, (${micros})::float8 as micros, octet_length(a.card) as card_bytes,
             ${isListed(sql, filter)} as is_listed
        from approvals.approval a
       where a.org_id = ${filter.orgId}
         ${candidateConditions(sql, filter)}
         ${after ? afterCondition(sql, filter, after) : sql``}
       order by ${decidedOrder} a.id ${direction}
       limit ${lookAtMax}
    ), found as (
      select id, micros, card_bytes
        from looked_at
       where is_listed
       order by micros ${direction}, id ${direction}
       limit ${limit}
    )
    select coalesce((select jsonb_agg(jsonb_build_array(id, micros, card_bytes)
                                      order by micros ${direction}, id ${direction})
                       from found), '[]') as found,
           (select count(*)::int from looked_at) as looked_at,
           (select jsonb_build_array(id, micros)
              from looked_at
             order by micros ${reversed(sql, filter)}, id ${reversed(sql, filter)}
             limit 1) as last
  `;
  const { found = [], looked_at: lookedAt = 0, last = null } = row ?? {};
  return {
    found: found.map(([id, decidedAtMicros, cardBytes]) => ({
      position: { id, decidedAtMicros },
      cardBytes,
    })),
    end: last === null || lookedAt < lookAtMax ? null : { id: last[0], decidedAtMicros: last[1] },
  };
}

function reversed(sql: Sql, { isOldestFirst }: ApprovalFilter) {
  return isOldestFirst ? sql`desc` : sql``;
}

function afterCondition(
  sql: Sql,
  { statuses, isOldestFirst }: ApprovalFilter,
  { id, decidedAtMicros }: ListPosition,
) {
  const isBehind = isOldestFirst ? sql`>` : sql`<`;
  if (!areDecided(statuses)) return sql`and a.id ${isBehind} ${id}`;
  return sql`
    and (a.resolved_at, a.id) ${isBehind}
        (timestamptz 'epoch' + ${decidedAtMicros}::float8 * interval '1 microsecond', ${id}::uuid)
  `;
}

/**
 * The conditions for which there is an index in the order of the list: open or decided, and the
 * requester, resolver or user. The partial indexes list the same statuses.
 */
function candidateConditions(
  sql: Sql,
  { statuses, requesterId, resolverId, visibleTo }: ApprovalFilter,
) {
  const isDecided = areDecided(statuses);
  const group =
    statuses === null
      ? sql``
      : isDecided
        ? sql`and a.resolved_at is not null`
        : sql`and a.status in ${openStatuses(sql)}`;
  if (requesterId !== null) return sql`${group} and a.requester_id = ${requesterId}`;
  if (resolverId !== null && statuses !== null && !isDecided)
    return sql`${group} and a.resolver_id = ${resolverId}`;
  return visibleTo ? sql`${group} and a.user_id = ${visibleTo.userId}` : group;
}

/** All conditions of the filter. They are tested on the approvals that were looked at. */
function isListed(
  sql: Sql,
  { visibleTo, statuses, resolverId, service, risk, words }: ApprovalFilter,
) {
  return sql`(
    true
    ${visibleTo ? sql`and a.user_id = ${visibleTo.userId} and ${visibleTo.identityId} = any(a.chain)` : sql``}
    ${statuses ? sql`and a.status in ${sql([...statuses])}` : sql``}
    ${resolverId ? sql`and a.resolver_id = ${resolverId}` : sql``}
    ${service ? sql`and a.service = ${service}` : sql``}
    ${risk ? sql`and a.risk = ${risk}` : sql``}
    ${words.reduce((all, word) => sql`${all} and strpos(a.search_text, ${word}) > 0`, sql``)}
  )`;
}

/** Returns these approvals in the given order, without stored results. */
export async function findApprovals(
  sql: Sql,
  { orgId, ids }: { orgId: string; ids: readonly string[] },
): Promise<Approval[]> {
  if (ids.length === 0) return [];
  const rows = await sql<ApprovalRow[]>`
    ${selectApprovals(sql, { withResults: false })}
     where a.org_id = ${orgId}
       and a.id = any(${[...ids]}::uuid[])
     order by array_position(${[...ids]}::uuid[], a.id)
  `;
  return rows.map(toApproval);
}

/**
 * The open approvals that a rule at this placement could cover: those for the same service and
 * credential, because a rule from a decision holds only for both.
 */
export async function listOpenApprovalsAtPlacement(
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
       and a.status in ${openStatuses(sql)}
       and a.expires_at > now()
     order by a.id
     limit ${limit}
  `;
  return rows.map(toApproval);
}

/**
 * The requesters that have open approvals and are one of these identities or a descendant of one.
 */
export async function listRequestersWithOpenApprovals(
  sql: Sql,
  { orgId, identityIds, limit }: { orgId: string; identityIds: readonly string[]; limit: number },
): Promise<string[]> {
  const rows = await sql<{ requester_id: string }[]>`
    select distinct requester_id
      from approvals.approval
     where org_id = ${orgId}
       and status in ${openStatuses(sql)}
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
       and status in ${openStatuses(sql)}
     order by id
     limit 1000
  `;
  return rows.map((row) => row.id);
}
