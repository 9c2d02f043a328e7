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

/**
 * What has an idempotency key: a call that is or was sent (`dispatch`), the approval of the call
 * itself, or the approval of an identical call that it joined.
 */
export interface KeyHolder {
  readonly callDigest: string;
  readonly dispatchId: string | null;
  readonly approvalId: string | null;
  readonly joinedApprovalId: string | null;
}

/**
 * A joined approval is stored as a dispatch id, not as the approval of the call: no approval card may
 * be made under it. Executors of 0.1.0 find no such dispatch and answer `execution_in_progress`.
 */
const joinedPrefix = 'joined-';

export const joinedDispatchIdOf = (approvalId: string): string => `${joinedPrefix}${approvalId}`;

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
): Promise<KeyHolder | undefined> {
  const [row] = await sql<
    { callDigest: string; dispatchId: string | null; approvalId: string | null }[]
  >`
    select call_digest as "callDigest", dispatch_id as "dispatchId", approval_id as "approvalId"
      from executor.idempotency
     where org_id = ${orgId}
       and identity_id = ${identityId}
       and key_digest = ${keyDigest}
       and created_at >= now() - ${dispatchKeptHours} * interval '1 hour'
  `;
  if (!row?.dispatchId?.startsWith(joinedPrefix)) return row && { ...row, joinedApprovalId: null };
  const joinedApprovalId = row.dispatchId.slice(joinedPrefix.length);
  return { ...row, dispatchId: null, joinedApprovalId };
}

/**
 * Gives the idempotency key of an approval that was never stored to the approval that the call
 * joined instead.
 */
export async function moveIdempotencyKey(
  sql: Sql,
  {
    orgId,
    identityId,
    keyDigest,
    callDigest,
  }: IdempotencyRowKey & Pick<IdempotencyEntry, 'callDigest'>,
  { from, to }: { from: string; to: string },
): Promise<void> {
  await sql`
    update executor.idempotency
       set approval_id = null, dispatch_id = ${joinedDispatchIdOf(to)}, created_at = now()
     where org_id = ${orgId}
       and identity_id = ${identityId}
       and key_digest = ${keyDigest}
       and call_digest = ${callDigest}
       and approval_id = ${from}
  `;
}

/**
 * Frees the idempotency key of a call that was not sent. Keys of calls that joined its approval keep
 * the failure as their answer.
 */
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
