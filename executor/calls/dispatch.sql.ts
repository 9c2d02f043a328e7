import type { Sql } from '#database';
import type { EventRow } from '#events';

/**
 * How long the executor that holds a dispatch may go without renewing its lease. After that,
 * another executor may decide the outcome of the dispatch.
 */
export const leaseSeconds = 15;
/** How long outcomes and idempotency keys are kept. */
export const dispatchKeptHours = 24;

export interface NewDispatch {
  readonly dispatchId: string;
  readonly orgId: string;
  readonly identityId: string;
  readonly callDigest: string;
  readonly auditId: string;
  /** The audit entry as JSON. Another executor needs it to record the outcome if this one dies. */
  readonly audit: string;
  readonly audience: readonly string[];
  readonly leaseToken: string;
  /** True for reads: another executor may send the call again if this one dies. */
  readonly mayRepeat: boolean;
}

export interface StoredDispatch {
  readonly callDigest: string;
  readonly auditId: string;
  readonly identityId: string;
  readonly isLeaseAlive: boolean;
  readonly mayRepeat: boolean;
  /** The stored outcome as JSON; null while the outcome is unknown. */
  readonly outcome: string | null;
}

export type DispatchKey = { orgId: string; dispatchId: string };
type LeasedDispatchKey = DispatchKey & { leaseToken: string };

/** A dispatch, with the event that reports that its non-read is about to be sent. */
export interface DispatchClaim {
  readonly dispatch: NewDispatch;
  readonly event: EventRow;
}

/** The insert of a dispatch. It returns a row unless the dispatch exists already. */
const insertion = (sql: Sql, dispatch: NewDispatch) => sql`
  insert into executor.dispatch
         (dispatch_id, org_id, identity_id, call_digest, audit_id, audit, audience, lease_token, lease_until,
          may_repeat)
  values (${dispatch.dispatchId}, ${dispatch.orgId}, ${dispatch.identityId}, ${dispatch.callDigest},
          ${dispatch.auditId}, ${dispatch.audit}, ${[...dispatch.audience]}, ${dispatch.leaseToken},
          now() + ${leaseSeconds} * interval '1 second', ${dispatch.mayRepeat})
      on conflict (dispatch_id) do nothing
  returning dispatch_id
`;

/**
 * Inserts the row that says that a non-read is about to be sent, together with the event that says
 * so. False when the row exists already; then the event is not stored either. It is one statement,
 * because each statement of a call costs a round trip.
 */
export async function insertDispatchAndEvent(
  sql: Sql,
  { dispatch, event }: DispatchClaim,
): Promise<boolean> {
  const rows = await withEvent(sql, insertion(sql, dispatch), event);
  return rows.length === 1;
}

/** Inserts the row of an approved read. False when the row exists already. */
export async function insertDispatch(sql: Sql, dispatch: NewDispatch): Promise<boolean> {
  const rows = await insertion(sql, dispatch);
  return rows.length === 1;
}

/** Executes the change, and inserts the event that reports it if the change affected a row. */
const withEvent = (sql: Sql, change: ReturnType<typeof insertion>, event: EventRow) => sql`
  with changed as (${change})
  insert into executor.outbox (id, org_id, type, body)
  select ${event.id}::uuid, ${event.orgId}::uuid, ${event.type}::text, ${event.body}::text
    from changed
  returning id
`;

export async function findDispatch(
  sql: Sql,
  { orgId, dispatchId }: DispatchKey,
): Promise<StoredDispatch | undefined> {
  const [row] = await sql<
    {
      call_digest: string;
      audit_id: string;
      identity_id: string;
      is_lease_alive: boolean;
      may_repeat: boolean;
      outcome: string | null;
    }[]
  >`
    select call_digest, audit_id, identity_id, lease_until > now() as is_lease_alive, may_repeat,
           outcome
      from executor.dispatch
     where org_id = ${orgId}
       and dispatch_id = ${dispatchId}
  `;
  return (
    row && {
      callDigest: row.call_digest,
      auditId: row.audit_id,
      identityId: row.identity_id,
      isLeaseAlive: row.is_lease_alive,
      mayRepeat: row.may_repeat,
      outcome: row.outcome,
    }
  );
}

/**
 * Takes over a read from an executor whose lease has ended. Of several concurrent attempts exactly
 * one succeeds.
 */
export async function takeOverRead(
  sql: Sql,
  {
    orgId,
    dispatchId,
    callDigest,
    auditId,
    leaseToken,
  }: LeasedDispatchKey & Pick<NewDispatch, 'callDigest' | 'auditId'>,
): Promise<boolean> {
  const rows = await sql`
    update executor.dispatch
       set lease_token = ${leaseToken}, audit_id = ${auditId},
           lease_until = now() + ${leaseSeconds} * interval '1 second'
     where org_id = ${orgId}
       and dispatch_id = ${dispatchId}
       and call_digest = ${callDigest}
       and may_repeat
       and outcome is null
       and lease_until <= now()
    returning dispatch_id
  `;
  return rows.length === 1;
}

/**
 * Extends the lease of a dispatch. False when the lease has ended or another executor has decided
 * the outcome; the caller must then send nothing.
 */
export async function renewLease(
  sql: Sql,
  { orgId, dispatchId, leaseToken }: LeasedDispatchKey,
): Promise<boolean> {
  const rows = await sql`
    update executor.dispatch
       set lease_until = now() + ${leaseSeconds} * interval '1 second'
     where org_id = ${orgId}
       and dispatch_id = ${dispatchId}
       and lease_token = ${leaseToken}
       and outcome is null
       and lease_until > now()
    returning dispatch_id
  `;
  return rows.length === 1;
}

type Outcome = LeasedDispatchKey & { readonly outcome: string };
/** The outcome of a dispatch, with the event that reports it. */
export type DispatchEnd = Outcome & { readonly event: EventRow };

/** The update that stores an outcome. It returns a row unless the outcome is decided already. */
const completion = (sql: Sql, { orgId, dispatchId, leaseToken, outcome }: Outcome) => sql`
  update executor.dispatch
     set outcome = ${outcome}, finished_at = now()
   where org_id = ${orgId}
     and dispatch_id = ${dispatchId}
     and lease_token = ${leaseToken}
     and outcome is null
  returning dispatch_id
`;

/**
 * Stores the outcome of a dispatch. False when another executor has decided the outcome already.
 */
export async function finishDispatch(sql: Sql, outcome: Outcome): Promise<boolean> {
  const rows = await completion(sql, outcome);
  return rows.length === 1;
}

/**
 * Stores the outcome of a dispatch together with the event that reports it. False, and no event, when
 * another executor has decided the outcome already.
 */
export async function finishDispatchAndStoreEvent(sql: Sql, end: DispatchEnd): Promise<boolean> {
  const rows = await withEvent(sql, completion(sql, end), end.event);
  return rows.length === 1;
}

/**
 * Deletes the row of a dispatch whose request was not sent. False when another executor has decided
 * the outcome already.
 */
export async function deleteUnsentDispatch(
  sql: Sql,
  { orgId, dispatchId, leaseToken }: LeasedDispatchKey,
): Promise<boolean> {
  const rows = await sql`
    delete from executor.dispatch
     where org_id = ${orgId}
       and dispatch_id = ${dispatchId}
       and lease_token = ${leaseToken}
       and outcome is null
    returning dispatch_id
  `;
  return rows.length === 1;
}

export interface AbandonedDispatch {
  readonly auditId: string;
  readonly audit: string;
  readonly audience: readonly string[];
}

/**
 * Decides the outcome of a dispatch whose lease has ended. Of several concurrent attempts exactly
 * one succeeds.
 */
export async function settleAbandonedDispatch(
  sql: Sql,
  { orgId, dispatchId, outcome }: DispatchKey & { outcome: string },
): Promise<AbandonedDispatch | undefined> {
  const [row] = await sql<{ audit_id: string; audit: string; audience: string[] }[]>`
    update executor.dispatch
       set outcome = ${outcome}, finished_at = now()
     where org_id = ${orgId}
       and dispatch_id = ${dispatchId}
       and not may_repeat
       and outcome is null
       and lease_until <= now()
    returning audit_id, audit, audience
  `;
  return row && { auditId: row.audit_id, audit: row.audit, audience: row.audience };
}

/** Deletes a dispatch older than a day, so that its idempotency key can be used again. */
export async function deleteExpiredDispatch(
  sql: Sql,
  { orgId, dispatchId }: DispatchKey,
): Promise<void> {
  await sql`
    delete from executor.dispatch
     where org_id = ${orgId}
       and dispatch_id = ${dispatchId}
       and outcome is not null
       and created_at < now() - ${dispatchKeptHours} * interval '1 hour'
  `;
}
