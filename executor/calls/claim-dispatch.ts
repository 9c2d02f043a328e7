import { createHash } from 'node:crypto';

import type { Sql } from '#database';
import { prepareEvent } from '#events';
import { v7 as uuidv7 } from 'uuid';

import type { Deps } from '../deps.ts';
import {
  deleteExpiredDispatch,
  insertDispatch,
  insertDispatchAndEvent,
  renewLease,
  takeOverRead,
} from './dispatch.sql.ts';
import type { DispatchClaim } from './dispatch.sql.ts';
import { findIdempotencyKey, insertIdempotencyKey } from './idempotency.sql.ts';
import { createIntentEvent } from './audit-entry.ts';
import type { PermitOrGap } from '../request/permit.ts';
import { Lease } from './lease.ts';
import { answerSecondAttempt, differentCallError, inProgressError } from './outcome.ts';
import { requireAudit } from './require-audit.ts';
import { audienceOf } from './run.ts';
import type { RunOutcome, Run } from './run.ts';

export type Claim =
  | { readonly kind: 'claimed'; readonly leaseToken: string; readonly lease: Lease }
  | { readonly kind: 'answered'; readonly executed: RunOutcome };

/** Thrown inside the claiming transaction to roll it back when the dispatch exists already. */
class AlreadyTaken extends Error {
  override readonly name = 'AlreadyTaken';
  readonly dispatchId: string;

  constructor(dispatchId: string) {
    super('dispatch exists');
    this.dispatchId = dispatchId;
  }
}

/**
 * Commits the dispatch row of a non-read together with its `action.intent` event, before the call
 * is sent. If an earlier attempt exists, returns that attempt's outcome instead. Of several
 * concurrent attempts exactly one gets `claimed`.
 */
export async function claimDispatch(
  { db, relay, dispatchWrites }: Pick<Deps, 'db' | 'relay' | 'dispatchWrites'>,
  run: Run,
  leaseToken: string,
): Promise<Claim> {
  const { permit, entry } = run;
  const { orgId, dispatchId, callDigest, jti } = permit;
  const claimedAt = performance.now();
  const audience = audienceOf(permit);
  const { row: event } = prepareEvent(createIntentEvent({ orgId, auditId: jti, audience, entry }));
  const dispatch = {
    dispatchId,
    orgId,
    identityId: permit.identityId,
    callDigest,
    auditId: jti,
    audit: JSON.stringify(entry),
    audience,
    leaseToken,
    mayRepeat: false,
  };
  try {
    const suspendedCall = await storeClaim({ db, relay, dispatchWrites }, permit, {
      dispatch,
      event,
    });
    if (suspendedCall) return { kind: 'answered', executed: suspendedCall };
  } catch (error) {
    if (!(error instanceof AlreadyTaken)) throw error;
    const otherCall = permit.idempotencyKey === null ? 'approval_stale' : 'idempotency_key_reused';
    const secondAttempt = { orgId, dispatchId: error.dispatchId, callDigest, otherCall } as const;
    return { kind: 'answered', executed: await answerSecondAttempt(db, secondAttempt) };
  }
  const lease = new Lease(claimedAt, () => renewLease(db, { orgId, dispatchId, leaseToken }));
  return { kind: 'claimed', leaseToken, lease };
}

/**
 * Commits the claim. Returns the approval that the call waits for, if it has one; throws
 * `AlreadyTaken` when there is an earlier attempt. A call without an idempotency key needs a single
 * statement, which it shares with the calls that are claimed at the same time.
 */
async function storeClaim(
  { db, relay, dispatchWrites }: Pick<Deps, 'db' | 'relay' | 'dispatchWrites'>,
  permit: Run['permit'],
  claim: DispatchClaim,
): Promise<Extract<IdempotencyKeyClaim, { kind: 'suspended' }> | undefined> {
  const { dispatchId } = claim.dispatch;
  const { idempotencyKey, approvalId } = permit;
  if (idempotencyKey === null && !relay.isAuditBlocked()) {
    if (!(await dispatchWrites.claim(claim))) throw new AlreadyTaken(dispatchId);
    return undefined;
  }
  return db.transaction(async (tx) => {
    const idempotencyRow = await claimKey(tx, permit, { dispatchId, approvalId });
    if (idempotencyRow.kind === 'suspended') return idempotencyRow;
    if (idempotencyRow.kind === 'elsewhere') throw new AlreadyTaken(idempotencyRow.dispatchId);
    if (!(await insertDispatchAndEvent(tx, claim))) throw new AlreadyTaken(dispatchId);
    // The check stands only here, because an earlier attempt may have been sent: then its outcome
    // is the answer.
    requireAudit({ relay });
    tx.markEvents(claim.event);
    return undefined;
  });
}

/**
 * Claims an approved read, or returns the outcome of its earlier attempt. A claim of an executor
 * that died can be taken over. No `action.intent` event is written, because a read changes nothing.
 */
export async function claimRead({ db }: Pick<Deps, 'db'>, run: Run): Promise<Claim> {
  const { permit, entry } = run;
  const { orgId, identityId, dispatchId, callDigest, jti: auditId } = permit;
  const leaseToken = uuidv7();
  const claimedAt = performance.now();
  const ownDispatch = { orgId, dispatchId, callDigest, auditId, leaseToken };
  const isClaimedHere =
    (await insertDispatch(db, {
      ...ownDispatch,
      identityId,
      audit: JSON.stringify(entry),
      audience: audienceOf(permit),
      mayRepeat: true,
    })) || (await takeOverRead(db, ownDispatch));
  if (!isClaimedHere) {
    const secondAttempt = { orgId, dispatchId, callDigest, otherCall: 'approval_stale' } as const;
    return { kind: 'answered', executed: await answerSecondAttempt(db, secondAttempt) };
  }
  const lease = new Lease(claimedAt, () => renewLease(db, { orgId, dispatchId, leaseToken }));
  return { kind: 'claimed', leaseToken, lease };
}

export type IdempotencyKeyClaim =
  | { readonly kind: 'mine' }
  | { readonly kind: 'suspended'; readonly approvalId: string }
  /** Another dispatch holds the idempotency key of this call. */
  | { readonly kind: 'elsewhere'; readonly dispatchId: string };

/**
 * Takes the idempotency key of a call, or returns the dispatch or approval that holds the key.
 * Throws `idempotency_key_reused` when the key was used for another call.
 */
export async function claimKey(
  sql: Sql,
  permit: PermitOrGap,
  { dispatchId, approvalId }: { dispatchId: string | null; approvalId: string | null },
): Promise<IdempotencyKeyClaim> {
  if (permit.idempotencyKey === null) return { kind: 'mine' };
  const { orgId, identityId, callDigest } = permit;
  const keyDigest = keyDigestOf(permit.idempotencyKey);
  const idempotencyEntry = { orgId, identityId, keyDigest, callDigest, dispatchId, approvalId };
  if (await insertIdempotencyKey(sql, idempotencyEntry)) {
    if (dispatchId !== null) await deleteExpiredDispatch(sql, { orgId, dispatchId });
    return { kind: 'mine' };
  }
  const idempotencyRow = await findIdempotencyKey(sql, { orgId, identityId, keyDigest });
  if (idempotencyRow === undefined) throw inProgressError(); // The key was released after the insert failed.
  if (idempotencyRow.callDigest !== callDigest) throw differentCallError('idempotency_key_reused');
  const heldBy = idempotencyRow.approvalId ?? idempotencyRow.joinedApprovalId;
  if (heldBy !== null) {
    // When the approval that holds the key is being replayed, the call may go on. Otherwise the
    // answer is the state of that approval.
    return heldBy === approvalId ? { kind: 'mine' } : { kind: 'suspended', approvalId: heldBy };
  }
  if (idempotencyRow.dispatchId === null || idempotencyRow.dispatchId === dispatchId)
    return { kind: 'mine' };
  return { kind: 'elsewhere', dispatchId: idempotencyRow.dispatchId };
}

/**
 * The SHA-256 of an idempotency key. The key itself is not needed, because keys are only compared,
 * and it could contain characters that the database refuses.
 */
export function keyDigestOf(idempotencyKey: string): string {
  return createHash('sha256').update(idempotencyKey).digest('hex');
}
