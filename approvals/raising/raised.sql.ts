import type { Sql } from '#database';
import type { RaisedCounts } from './domain/raised.ts';

interface Raiser {
  readonly orgId: string;
  readonly userId: string;
  readonly subtreeId: string;
  readonly requesterId: string;
}

/**
 * An id is created shortly before its row is stored, so ids that are up to this much older than an
 * hour are included.
 */
const idLeewayMs = 120_000;
const hourMs = 3_600_000;

/**
 * Counts the approvals raised within the last hour, in any state, among the newest `max` of the
 * org. `freeSeconds` is the number of seconds until the requester's oldest one is an hour old.
 */
export async function countRaisedApprovals(
  sql: Sql,
  { orgId, userId, subtreeId, requesterId }: Raiser,
  max: number,
): Promise<{ counts: RaisedCounts; freeSeconds: number }> {
  const [row] = await sql<
    { org: number; user: number; subtree: number; requester: number; free_seconds: number | null }[]
  >`
    select count(*)::int as org,
           count(*) filter (where user_id = ${userId})::int as user,
           count(*) filter (where subtree_id = ${subtreeId})::int as subtree,
           count(*) filter (where requester_id = ${requesterId})::int as requester,
           ceil(3600 - extract(epoch from now() - min(created_at)
             filter (where requester_id = ${requesterId})))::int as free_seconds
      from (select user_id, subtree_id, requester_id, created_at
              from approvals.approval
             where org_id = ${orgId}
               and id >= ${smallestIdAt(Date.now() - hourMs - idLeewayMs)}
               and created_at > now() - interval '1 hour'
             order by id desc
             limit ${max}) as raised
  `;
  const { org = 0, user = 0, subtree = 0, requester = 0 } = row ?? {};
  return { counts: { org, user, subtree, requester }, freeSeconds: row?.free_seconds ?? 60 };
}

/** The smallest UUIDv7 with this timestamp. */
function smallestIdAt(ms: number): string {
  const hex = ms.toString(16).padStart(12, '0');
  return `${hex.slice(0, 8)}-${hex.slice(8)}-7000-8000-000000000000`;
}
