import type { Sql } from '#database';

/** How long nobody else may decide what became of a dispatch whose executor is silent. */
export const leaseSeconds = 15;
/** For how long outcomes and idempotency keys are kept. */
export const keptHours = 24;

export interface NewDispatch {
  readonly dispatchId: string;
  readonly orgId: string;
  readonly identityId: string;
  readonly callDigest: string;
  readonly auditId: string;
  /** JSON of the audit entry, for whoever has to write the outcome. */
  readonly audit: string;
  readonly audience: readonly string[];
  readonly leaseToken: string;
  /** Of a read: when its executor is gone, another one may send it. */
  readonly mayRepeat: boolean;
}

export interface StoredDispatch {
  readonly callDigest: string;
  readonly auditId: string;
  readonly identityId: string;
  readonly isLeaseAlive: boolean;
  readonly mayRepeat: boolean;
  /** JSON of what became of it; null while nobody knows. */
  readonly outcome: string | null;
}

type ById = { orgId: string; dispatchId: string };
type ByLease = ById & { leaseToken: string };

/** The record that a non-read or an approved read is about to leave; false when there is one already. */
export async function insertDispatch(sql: Sql, dispatch: NewDispatch): Promise<boolean> {
  const rows = await sql`
    insert into executor.dispatch
           (dispatch_id, org_id, identity_id, call_digest, audit_id, audit, audience, lease_token, lease_until,
            may_repeat)
    values (${dispatch.dispatchId}, ${dispatch.orgId}, ${dispatch.identityId}, ${dispatch.callDigest},
            ${dispatch.auditId}, ${dispatch.audit}, ${[...dispatch.audience]}, ${dispatch.leaseToken},
            now() + ${leaseSeconds} * interval '1 second', ${dispatch.mayRepeat})
        on conflict (dispatch_id) do nothing
    returning dispatch_id
  `;
  return rows.length === 1;
}

export async function findDispatch(
  sql: Sql,
  { orgId, dispatchId }: ById,
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

/** Makes a read ours whose executor is silent; of many who try, one gets it. */
export async function takeOverRead(
  sql: Sql,
  {
    orgId,
    dispatchId,
    callDigest,
    auditId,
    leaseToken,
  }: ByLease & Pick<NewDispatch, 'callDigest' | 'auditId'>,
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

/** False when the lease has passed or somebody has decided the outcome: then nothing may be sent any more. */
export async function renewLease(
  sql: Sql,
  { orgId, dispatchId, leaseToken }: ByLease,
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

/** Stores what became of it, unless somebody else has already decided that. */
export async function finishDispatch(
  sql: Sql,
  { orgId, dispatchId, leaseToken, outcome }: ByLease & { outcome: string },
): Promise<boolean> {
  const rows = await sql`
    update executor.dispatch
       set outcome = ${outcome}, finished_at = now()
     where org_id = ${orgId}
       and dispatch_id = ${dispatchId}
       and lease_token = ${leaseToken}
       and outcome is null
    returning dispatch_id
  `;
  return rows.length === 1;
}

/** Takes the record back because nothing left; false when somebody else has already decided its outcome. */
export async function deleteUnsentDispatch(
  sql: Sql,
  { orgId, dispatchId, leaseToken }: ByLease,
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

/** Decides a dispatch whose lease has passed; of many who try, one gets it. */
export async function settleAbandonedDispatch(
  sql: Sql,
  { orgId, dispatchId, outcome }: ById & { outcome: string },
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

/** Of every org: dispatches whose executor has been silent for this long after its lease. */
export async function listAbandonedDispatches(
  sql: Sql,
  { silentSeconds, limit }: { silentSeconds: number; limit: number },
): Promise<ById[]> {
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

/** Makes room for a new use of an idempotency key whose day is over. */
export async function deleteExpiredDispatch(sql: Sql, { orgId, dispatchId }: ById): Promise<void> {
  await sql`
    delete from executor.dispatch
     where org_id = ${orgId}
       and dispatch_id = ${dispatchId}
       and outcome is not null
       and created_at < now() - ${keptHours} * interval '1 hour'
  `;
}

/** Of every org: erases outcomes, and with them what upstreams answered, after a day. */
export async function eraseOldDispatches(sql: Sql, { limit }: { limit: number }): Promise<number> {
  const rows = await sql`
    delete from executor.dispatch
     where dispatch_id in (select dispatch_id
                             from executor.dispatch
                            where created_at < now() - ${keptHours} * interval '1 hour'
                              and (outcome is not null or may_repeat)
                            limit ${limit})
    returning dispatch_id
  `;
  return rows.length;
}
