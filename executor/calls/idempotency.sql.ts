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
  /** Whether the approval is that of an identical call, which this call joined. */
  readonly isJoined: boolean;
}

type IdempotencyRowKey = Pick<IdempotencyEntry, 'orgId' | 'identityId' | 'keyDigest'>;

/**
 * Claims an idempotency key for a call. False when another call holds the key. A key older than a
 * day may be claimed again.
 */
export async function insertIdempotencyKey(sql: Sql, entry: IdempotencyEntry): Promise<boolean> {
  const rows = await sql`
    insert into executor.idempotency as held
           (org_id, identity_id, key_digest, call_digest, dispatch_id, approval_id, joined)
    values (${entry.orgId}, ${entry.identityId}, ${entry.keyDigest}, ${entry.callDigest},
            ${entry.dispatchId}, ${entry.approvalId}, ${entry.isJoined})
        on conflict (org_id, identity_id, key_digest)
        do update set call_digest = excluded.call_digest,
                      dispatch_id = excluded.dispatch_id,
                      approval_id = excluded.approval_id,
                      joined = excluded.joined,
                      created_at = now()
                where held.created_at < now() - ${dispatchKeptHours} * interval '1 hour'
    returning key_digest
  `;
  return rows.length === 1;
}

export async function findIdempotencyKey(
  sql: Sql,
  { orgId, identityId, keyDigest }: IdempotencyRowKey,
): Promise<
  Pick<IdempotencyEntry, 'callDigest' | 'dispatchId' | 'approvalId' | 'isJoined'> | undefined
> {
  const [row] = await sql<
    {
      callDigest: string;
      dispatchId: string | null;
      approvalId: string | null;
      isJoined: boolean;
    }[]
  >`
    select call_digest as "callDigest", dispatch_id as "dispatchId", approval_id as "approvalId",
           joined as "isJoined"
      from executor.idempotency
     where org_id = ${orgId}
       and identity_id = ${identityId}
       and key_digest = ${keyDigest}
       and created_at >= now() - ${dispatchKeptHours} * interval '1 hour'
  `;
  return row;
}

/**
 * Gives the idempotency key of an approval that was never stored to the approval that the call
 * joined instead. False when the key no longer belongs to the former.
 */
export async function moveIdempotencyKey(
  sql: Sql,
  { orgId, identityId, keyDigest }: IdempotencyRowKey,
  { from, to }: { from: string; to: string },
): Promise<boolean> {
  const rows = await sql`
    update executor.idempotency
       set approval_id = ${to}, joined = true
     where org_id = ${orgId}
       and identity_id = ${identityId}
       and key_digest = ${keyDigest}
       and approval_id = ${from}
    returning key_digest
  `;
  return rows.length === 1;
}

/** Frees the idempotency key of a direct call that was not sent. */
export async function releaseIdempotencyKey(
  sql: Sql,
  {
    orgId,
    identityId,
    keyDigest,
    callDigest,
  }: IdempotencyRowKey & Pick<IdempotencyEntry, 'callDigest'>,
): Promise<void> {
  await sql`
    delete from executor.idempotency
     where org_id = ${orgId}
       and identity_id = ${identityId}
       and key_digest = ${keyDigest}
       and call_digest = ${callDigest}
       and approval_id is null
  `;
}

/**
 * Frees all idempotency keys of an approved call that was not sent: that of the call itself, and
 * those of the identical calls that joined its approval.
 */
export async function releaseKeysOfApproval(
  sql: Sql,
  { orgId, approvalId }: { orgId: string; approvalId: string },
): Promise<void> {
  await sql`
    delete from executor.idempotency
     where org_id = ${orgId}
       and approval_id = ${approvalId}
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
