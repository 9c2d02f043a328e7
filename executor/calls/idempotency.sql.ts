import type { Sql } from '#database';
import { dispatchKeptHours } from './dispatch.sql.ts';

export interface IdempotencyEntry {
  readonly orgId: string;
  readonly identityId: string;
  /** The SHA-256 of the key. Keys are only compared, so the key itself is not stored. */
  readonly keyDigest: string;
  readonly callDigest: string;
  /** Null for a call that waits for approval. The permit of its replay contains the dispatch id. */
  readonly dispatchId: string | null;
  /** The approval that the call waits for; null when the call needs none. */
  readonly approvalId: string | null;
}

type IdempotencyRowKey = Pick<IdempotencyEntry, 'orgId' | 'identityId' | 'keyDigest'>;

/**
 * Claims an idempotency key for a call. False when another call holds the key. A key older than a
 * day may be claimed again.
 */
export async function insertIdempotencyKey(sql: Sql, entry: IdempotencyEntry): Promise<boolean> {
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
                where held.created_at < now() - ${dispatchKeptHours} * interval '1 hour'
    returning key_digest
  `;
  return rows.length === 1;
}

export async function findIdempotencyKey(
  sql: Sql,
  { orgId, identityId, keyDigest }: IdempotencyRowKey,
): Promise<Pick<IdempotencyEntry, 'callDigest' | 'dispatchId' | 'approvalId'> | undefined> {
  const [row] = await sql<
    { call_digest: string; dispatch_id: string | null; approval_id: string | null }[]
  >`
    select call_digest, dispatch_id, approval_id
      from executor.idempotency
     where org_id = ${orgId}
       and identity_id = ${identityId}
       and key_digest = ${keyDigest}
       and created_at >= now() - ${dispatchKeptHours} * interval '1 hour'
  `;
  return (
    row && { callDigest: row.call_digest, dispatchId: row.dispatch_id, approvalId: row.approval_id }
  );
}

/** Frees the idempotency key of a call that was not sent. */
export async function releaseIdempotencyKey(
  sql: Sql,
  {
    orgId,
    identityId,
    keyDigest,
    callDigest,
    approvalId,
  }: IdempotencyRowKey & Pick<IdempotencyEntry, 'callDigest' | 'approvalId'>,
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

/** Erases, across orgs, idempotency keys older than a day. */
export async function eraseOldIdempotencyKeys(
  sql: Sql,
  { limit }: { limit: number },
): Promise<number> {
  const rows = await sql`
    delete from executor.idempotency
     where (org_id, identity_id, key_digest) in
           (select org_id, identity_id, key_digest
              from executor.idempotency
             where created_at < now() - ${dispatchKeptHours} * interval '1 hour'
             limit ${limit})
    returning key_digest
  `;
  return rows.length;
}
