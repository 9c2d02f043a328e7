import type { Sql } from '#database';
import type { EventRow } from '#events';
import { dispatchKeptHours, leaseSeconds } from './dispatch.sql.ts';
import type { DispatchClaim, DispatchEnd, DispatchKey, NewDispatch } from './dispatch.sql.ts';

/** Inserts dispatches, and returns the lease token of each that did not exist. */
const insertion = (sql: Sql, dispatches: readonly NewDispatch[]) => sql`
  insert into executor.dispatch
         (dispatch_id, org_id, identity_id, call_digest, audit_id, audit, audience, lease_token,
          lease_until)
  select dispatch_id, org_id, identity_id, call_digest, audit_id, audit, audience::uuid[], lease_token,
         now() + ${leaseSeconds} * interval '1 second'
    from unnest(${dispatches.map((each) => each.dispatchId)}::text[],
                ${dispatches.map((each) => each.orgId)}::uuid[],
                ${dispatches.map((each) => each.identityId)}::uuid[],
                ${dispatches.map((each) => each.callDigest)}::text[],
                ${dispatches.map((each) => each.auditId)}::uuid[],
                ${dispatches.map((each) => each.audit)}::text[],
                ${dispatches.map((each) => `{${each.audience.join()}}`)}::text[],
                ${dispatches.map((each) => each.leaseToken)}::uuid[])
      as given (dispatch_id, org_id, identity_id, call_digest, audit_id, audit, audience, lease_token)
   order by dispatch_id
      on conflict (dispatch_id) do nothing
  returning lease_token
`;

/**
 * `insertDispatchAndEvent` for several non-reads at once: says of each, in their order, whether its
 * row and its event were stored. Rows are inserted in the order of their ids, so that two executors
 * cannot deadlock.
 */
export async function insertDispatchesAndEvents(
  sql: Sql,
  claims: readonly DispatchClaim[],
): Promise<boolean[]> {
  const leased = claims.map(({ dispatch, event }) => ({ ...dispatch, event }));
  return storeWithEvents(sql, insertion(sql, leased), leased);
}

/**
 * `finishDispatchAndStoreEvent` for several dispatches at once: says of each, in their order, whether
 * its outcome and its event were stored. They were not if the outcome is decided already, or if
 * another executor holds the row, for which this does not wait. A lease token belongs to one
 * dispatch, so it selects the outcome. The condition is on `finished_at`, because one on `outcome`
 * would let Postgres choose the index of all open dispatches instead of the primary key.
 */
export async function finishDispatchesAndStoreEvents(
  sql: Sql,
  ends: readonly DispatchEnd[],
): Promise<boolean[]> {
  const leaseTokens = ends.map(({ leaseToken }) => leaseToken);
  const change = sql`
    update executor.dispatch
       set outcome = (${ends.map(({ outcome }) => outcome)}::text[])
                     [array_position(${leaseTokens}::uuid[], lease_token)],
           finished_at = now()
     where dispatch_id in (select dispatch_id
                             from executor.dispatch
                            where org_id = any(${ends.map(({ orgId }) => orgId)}::uuid[])
                              and dispatch_id = any(${ends.map(({ dispatchId }) => dispatchId)}::text[])
                              and lease_token = any(${leaseTokens}::uuid[])
                              and finished_at is null
                              for update skip locked)
    returning lease_token
  `;
  return storeWithEvents(sql, change, ends);
}

/**
 * Executes the change, and inserts the events of those dispatches whose lease token the change
 * returns. Says of each dispatch, in their order, whether it is one of these.
 */
async function storeWithEvents(
  sql: Sql,
  change: ReturnType<typeof insertion>,
  leased: readonly { readonly leaseToken: string; readonly event: EventRow }[],
): Promise<boolean[]> {
  const rows = await sql<{ id: string }[]>`
    with changed as (${change})
    insert into executor.outbox (id, org_id, type, body)
    select id, org_id, type, body
      from unnest(${leased.map(({ leaseToken }) => leaseToken)}::uuid[],
                  ${leased.map(({ event }) => event.id)}::uuid[],
                  ${leased.map(({ event }) => event.orgId)}::uuid[],
                  ${leased.map(({ event }) => event.type)}::text[],
                  ${leased.map(({ event }) => event.body)}::text[])
             as given (lease_token, id, org_id, type, body)
             join changed using (lease_token)
    returning id
  `;
  const stored = new Set(rows.map(({ id }) => id));
  return leased.map(({ event }) => stored.has(event.id));
}

/**
 * Lists, across orgs, dispatches that have no outcome although their lease ended at least
 * `silentSeconds` ago.
 */
export async function listAbandonedDispatches(
  sql: Sql,
  { silentSeconds, limit }: { silentSeconds: number; limit: number },
): Promise<DispatchKey[]> {
  const rows = await sql<{ org_id: string; dispatch_id: string }[]>`
    select org_id, dispatch_id
      from executor.dispatch
     where outcome is null
       and not may_repeat
       and lease_until < now() - ${silentSeconds} * interval '1 second'
     order by lease_until
     limit ${limit}
  `;
  return rows.map((row) => ({ orgId: row.org_id, dispatchId: row.dispatch_id }));
}

/**
 * Erases, across orgs, the outcomes of dispatches older than a day. An outcome contains the
 * upstream's answer.
 */
export async function eraseOldDispatches(sql: Sql, { limit }: { limit: number }): Promise<number> {
  const rows = await sql`
    delete from executor.dispatch
     where dispatch_id in (select dispatch_id
                             from executor.dispatch
                            where created_at < now() - ${dispatchKeptHours} * interval '1 hour'
                              and (outcome is not null or may_repeat)
                            limit ${limit})
    returning dispatch_id
  `;
  return rows.length;
}
