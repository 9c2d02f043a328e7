import { createHash } from 'node:crypto';

import type { Sql } from '#database';
import { appendEvent } from '#events';
import { v7 as uuidv7 } from 'uuid';

import type { Deps } from '../deps.ts';
import {
  deleteExpiredDispatch,
  insertDispatch,
  renewLease,
  takeOverRead,
} from '../repository/dispatch.ts';
import { findIdempotency, insertIdempotency } from '../repository/idempotency.ts';
import { intentEvent } from './audit-entry.ts';
import type { CallFacts } from './facts.ts';
import { Lease } from './lease.ts';
import { answerSecondAttempt, differentCall, inProgress } from './outcome.ts';
import { audienceOf } from './run.ts';
import type { Executed, Run } from './run.ts';

export type Claim =
  | { readonly kind: 'claimed'; readonly leaseToken: string; readonly lease: Lease }
  | { readonly kind: 'answered'; readonly executed: Executed };

/** Found in the claiming transaction, which must then leave no trace. */
class AlreadyTaken extends Error {
  override readonly name = 'AlreadyTaken';
  readonly dispatchId: string;

  constructor(dispatchId: string) {
    super('dispatch exists');
    this.dispatchId = dispatchId;
  }
}

/**
 * Commits that a non-read is about to leave, with the audit event that says so, or answers with
 * what became of the attempt that was first. Of any number at once, one is told `claimed`.
 */
export async function claimDispatch({ db }: Pick<Deps, 'db'>, run: Run): Promise<Claim> {
  const { permit, entry } = run;
  const { orgId, dispatchId, callDigest, jti } = permit;
  const leaseToken = uuidv7();
  const claimedAt = performance.now();
  const audience = audienceOf(permit);
  try {
    const suspended = await db.transaction(async (tx) => {
      const held = await claimKey(tx, permit, { dispatchId, approvalId: permit.approvalId });
      if (held.kind === 'suspended') return held;
      if (held.kind === 'elsewhere') throw new AlreadyTaken(held.dispatchId);
      const { identityId } = permit;
      const audit = JSON.stringify(entry);
      const dispatch = {
        dispatchId,
        orgId,
        identityId,
        callDigest,
        auditId: jti,
        audit,
        audience,
        leaseToken,
        mayRepeat: false,
      };
      // Sent together: one round trip, and the rollback takes both back.
      const [isFirst] = await Promise.all([
        insertDispatch(tx, dispatch),
        appendEvent(tx, intentEvent({ orgId, auditId: jti, audience, entry })),
      ]);
      if (!isFirst) throw new AlreadyTaken(dispatchId);
      return undefined;
    });
    if (suspended) return { kind: 'answered', executed: suspended };
  } catch (thrown) {
    if (!(thrown instanceof AlreadyTaken)) throw thrown;
    const otherCall = permit.idempotencyKey === null ? 'approval_stale' : 'idempotency_key_reused';
    const attempt = { orgId, dispatchId: thrown.dispatchId, callDigest, otherCall } as const;
    return { kind: 'answered', executed: await answerSecondAttempt(db, attempt) };
  }
  const lease = new Lease(claimedAt, () => renewLease(db, { orgId, dispatchId, leaseToken }));
  return { kind: 'claimed', leaseToken, lease };
}

/**
 * Claims an approved read, also from an executor that is gone with it, or answers with what became
 * of it. Its intent is no event: it changes nothing.
 */
export async function claimRead({ db }: Pick<Deps, 'db'>, run: Run): Promise<Claim> {
  const { permit, entry } = run;
  const { orgId, identityId, dispatchId, callDigest, jti: auditId } = permit;
  const leaseToken = uuidv7();
  const claimedAt = performance.now();
  const mine = { orgId, dispatchId, callDigest, auditId, leaseToken };
  const isMine =
    (await insertDispatch(db, {
      ...mine,
      identityId,
      audit: JSON.stringify(entry),
      audience: audienceOf(permit),
      mayRepeat: true,
    })) || (await takeOverRead(db, mine));
  if (!isMine) {
    const attempt = { orgId, dispatchId, callDigest, otherCall: 'approval_stale' } as const;
    return { kind: 'answered', executed: await answerSecondAttempt(db, attempt) };
  }
  const lease = new Lease(claimedAt, () => renewLease(db, { orgId, dispatchId, leaseToken }));
  return { kind: 'claimed', leaseToken, lease };
}

type HeldKey =
  | { readonly kind: 'mine' }
  | { readonly kind: 'suspended'; readonly approvalId: string }
  /** The key's call is another dispatch than the one in hand. */
  | { readonly kind: 'elsewhere'; readonly dispatchId: string };

/** Takes the idempotency key of a call, or says who has it; `idempotency_key_reused` when that is another call. */
export async function claimKey(
  sql: Sql,
  facts: CallFacts,
  { dispatchId, approvalId }: { dispatchId: string | null; approvalId: string | null },
): Promise<HeldKey> {
  if (facts.idempotencyKey === null) return { kind: 'mine' };
  const { orgId, identityId, callDigest } = facts;
  const keyDigest = keyDigestOf(facts.idempotencyKey);
  const entry = { orgId, identityId, keyDigest, callDigest, dispatchId, approvalId };
  if (await insertIdempotency(sql, entry)) {
    if (dispatchId !== null) await deleteExpiredDispatch(sql, { orgId, dispatchId });
    return { kind: 'mine' };
  }
  const held = await findIdempotency(sql, { orgId, identityId, keyDigest });
  if (held === undefined) throw inProgress(); // Released between the two statements.
  if (held.callDigest !== callDigest) throw differentCall('idempotency_key_reused');
  if (held.approvalId !== null) {
    // The key's own approval is being replayed, or its state is the answer.
    return held.approvalId === approvalId
      ? { kind: 'mine' }
      : { kind: 'suspended', approvalId: held.approvalId };
  }
  if (held.dispatchId === null || held.dispatchId === dispatchId) return { kind: 'mine' };
  return { kind: 'elsewhere', dispatchId: held.dispatchId };
}

/** Keys are compared, never shown: their digest is enough, and has no characters that a database refuses. */
export function keyDigestOf(idempotencyKey: string): string {
  return createHash('sha256').update(idempotencyKey).digest('hex');
}
