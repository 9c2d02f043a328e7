import type { Sql } from '#database';
import { declinedTogetherCondition } from './person-request.sql.ts';
import type { UserKey, SameRequest } from './person-request.sql.ts';
import { requestColumns, toRequest } from './person-request-row.sql.ts';
import type { PersonRequest, Row } from './person-request-row.sql.ts';

/**
 * The newest request that was declined in the last 24 hours and whose decline also covers this one,
 * and the seconds until the decline ends.
 */
export async function findRecentDecline(
  sql: Sql,
  wantedRequest: SameRequest,
): Promise<{ request: PersonRequest; retryAfterSeconds: number } | undefined> {
  const [row] = await sql<(Row & { retry_after: number })[]>`
    select ${requestColumns(sql)},
           86400 - floor(extract(epoch from now() - closed_at))::integer as retry_after
      from executor.person_request
     where org_id = ${wantedRequest.orgId}
       and user_id = ${wantedRequest.userId}
       and ${declinedTogetherCondition(sql, wantedRequest)}
       and status = 'declined'
       and closed_at > now() - interval '24 hours'
     order by closed_at desc
     limit 1
  `;
  return row && { request: toRequest(row), retryAfterSeconds: row.retry_after };
}

export interface RequestCounts {
  /** Open requests of this requester, and the seconds until the first of them expires. */
  readonly ofRequester: number;
  readonly requesterSeconds: number;
  /** Open requests of all agents of the user; if the user asks, of the user alone. */
  readonly ofUser: number;
  readonly userSeconds: number;
  /**
   * Requests of the last 24 hours, open or closed, and the seconds until the oldest of them leaves
   * the count.
   */
  readonly ofDay: number;
  readonly daySeconds: number;
  /** The same numbers for the agent in the requester's chain, with all its subagents. */
  readonly ofSubtreeDay: number;
  readonly subtreeDaySeconds: number;
}

/**
 * Counts the requests of all kinds of a requester and of all agents of its user. A user's own
 * requests count separately, so that agents cannot use up the limit of their user.
 */
export async function countRequests(
  sql: Sql,
  {
    orgId,
    userId,
    requesterId,
    subtreeId,
  }: UserKey & { readonly requesterId: string; readonly subtreeId: string },
): Promise<RequestCounts> {
  const [row] = await sql<RequestCounts[]>`
    select count(*) filter (where is_open and requester_id = ${requesterId})::integer as "ofRequester",
           coalesce(ceil(extract(epoch from
             min(expires_at) filter (where is_open and requester_id = ${requesterId}) - now())), 1)::integer
             as "requesterSeconds",
           count(*) filter (where is_open)::integer as "ofUser",
           coalesce(ceil(extract(epoch from min(expires_at) filter (where is_open) - now())), 1)::integer
             as "userSeconds",
           count(*) filter (where is_of_day)::integer as "ofDay",
           coalesce(ceil(extract(epoch from
             min(created_at) filter (where is_of_day) + interval '24 hours' - now())), 1)::integer
             as "daySeconds",
           count(*) filter (where is_of_day and is_of_subtree)::integer as "ofSubtreeDay",
           coalesce(ceil(extract(epoch from
             min(created_at) filter (where is_of_day and is_of_subtree)
               + interval '24 hours' - now())), 1)::integer
             as "subtreeDaySeconds"
      from (select requester_id, created_at, expires_at,
                   ${subtreeId} = any(chain_ids) as is_of_subtree,
                   status = 'open' and expires_at > now() as is_open,
                   created_at > now() - interval '24 hours' as is_of_day
              from executor.person_request
             where org_id = ${orgId}
               and user_id = ${userId}
               and (requester_id = user_id) = ${requesterId === userId}
               and (status = 'open' or created_at > now() - interval '24 hours')) as counted
  `;
  if (!row) throw new Error('count of requests returned no row');
  return row;
}
