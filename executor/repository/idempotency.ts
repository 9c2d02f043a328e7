import type { Sql } from '#database';
import { keptHours } from './dispatch.ts';

export interface IdempotencyEntry {
  readonly orgId: string;
  readonly identityId: string;
  /** SHA-256 of the key: it is compared, never shown. */
  readonly keyDigest: string;
  readonly callDigest: string;
  /** Null for a suspended call: its replay brings the id along. */
  readonly dispatchId: string | null;
  /** Set when the call was suspended. */
  readonly approvalId: string | null;
}

type ByKey = Pick<IdempotencyEntry, 'orgId' | 'identityId' | 'keyDigest'>;

/** Claims a key for a call; false when another call holds it. A key whose day is over is free again. */
export async function insertIdempotency(sql: Sql, entry: IdempotencyEntry): Promise<boolean> {
  const rows = await sql`
    insert into executor.idempotency as held
           (org_id, identity_id, key_digest, call_digest, dispatch_id, approval_id)
    values (${entry.orgId}, ${entry.identityId}, ${entry.keyDigest}, ${entry.callDigest},
            ${entry.dispatchId}, ${entry.approvalId})
        on conflict (org_id, identity_id, key_digest)
        do update set call_digest = excluded.call_digest,
                      dispatch_id = excluded.dispatch_id,
                      approval_id = excluded.approval_id,
                      created_at = now()
                where held.created_at < now() - ${keptHours} * interval '1 hour'
    returning key_digest
  `;
  return rows.length === 1;
}

export async function findIdempotency(
  sql: Sql,
  { orgId, identityId, keyDigest }: ByKey,
): Promise<Pick<IdempotencyEntry, 'callDigest' | 'dispatchId' | 'approvalId'> | undefined> {
  const [row] = await sql<
    { call_digest: string; dispatch_id: string | null; approval_id: string | null }[]
  >`
    select call_digest, dispatch_id, approval_id
      from executor.idempotency
     where org_id = ${orgId}
       and identity_id = ${identityId}
       and key_digest = ${keyDigest}
       and created_at >= now() - ${keptHours} * interval '1 hour'
  `;
  return (
    row && { callDigest: row.call_digest, dispatchId: row.dispatch_id, approvalId: row.approval_id }
  );
}

/** Frees a key because nothing left of this call. */
export async function releaseIdempotency(
  sql: Sql,
  {
    orgId,
    identityId,
    keyDigest,
    callDigest,
    approvalId,
  }: ByKey & Pick<IdempotencyEntry, 'callDigest' | 'approvalId'>,
): Promise<void> {
  await sql`
    delete from executor.idempotency
     where org_id = ${orgId}
       and identity_id = ${identityId}
       and key_digest = ${keyDigest}
       and call_digest = ${callDigest}
       and approval_id is not distinct from ${approvalId}::uuid
  `;
}

/** Of every org: keys whose day is over. */
export async function eraseOldIdempotency(sql: Sql, { limit }: { limit: number }): Promise<number> {
  const rows = await sql`
    delete from executor.idempotency
     where (org_id, identity_id, key_digest) in
           (select org_id, identity_id, key_digest
              from executor.idempotency
             where created_at < now() - ${keptHours} * interval '1 hour'
             limit ${limit})
    returning key_digest
  `;
  return rows.length;
}
