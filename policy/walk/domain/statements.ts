import { createHash } from 'node:crypto';

import type { Gap, Permit } from '#contracts/permit';

/** The fields of a permit that do not depend on how the call was allowed. */
type PermitContent = Omit<
  Permit,
  | 'jti'
  | 'dispatchId'
  | 'decision'
  | 'approvalId'
  | 'executionId'
  | 'requestDigest'
  | 'issuedAt'
  | 'expiresAt'
>;

/**
 * How long after it was signed a permit may be used to start sending the call, in milliseconds
 * (docs/reference/identities.md#lifetimes).
 */
export const permitLifetimeMs = 5_000;

/** A permit for this one call, valid for five seconds. */
export function buildPermit(
  content: PermitContent,
  {
    jti,
    now,
    decision,
    replay,
  }: {
    jti: string;
    now: number;
    decision: Permit['decision'];
    /** Set only for the replay of an approved call. */
    replay: {
      approvalId: string;
      executionId: string;
      gapId: string;
      requestDigest: string | null;
    } | null;
  },
): Permit {
  return {
    ...content,
    jti,
    dispatchId: dispatchIdOf(content, replay?.gapId ?? jti),
    decision,
    approvalId: replay?.approvalId ?? null,
    executionId: replay?.executionId ?? null,
    requestDigest: replay?.requestDigest ?? null,
    issuedAt: now,
    expiresAt: now + permitLifetimeMs,
  };
}

/**
 * The id of the row that records that the call was sent (its dispatch). For a write with an
 * idempotency key, the id is derived from that key, so that repeated calls and a replay share the
 * row. Reads ignore the key. Otherwise a replay uses the id of its permission gap. Approvals cannot
 * choose that id, so one decision is dispatched only once, whatever execution ids approvals sends.
 */
export function dispatchIdOf(
  {
    identityId,
    idempotencyKey,
    nonRead,
  }: Pick<Permit, 'identityId' | 'idempotencyKey' | 'nonRead'>,
  fallbackText: string,
): string {
  if (idempotencyKey === null || !nonRead) return fallbackText;
  const digest = createHash('sha256').update(`${identityId}\0${idempotencyKey}`).digest('hex');
  return `idem-${digest}`;
}

/**
 * The fields of the permit that replays a call. They come from the permission gap of the suspended
 * call.
 */
export function permitContentOf(gap: Gap): PermitContent {
  return {
    orgId: gap.orgId,
    userId: gap.userId,
    identityId: gap.identityId,
    chain: gap.chain,
    credential: gap.credential,
    callDigest: gap.callDigest,
    idempotencyKey: gap.idempotencyKey,
    target: gap.target,
    templateDigest: gap.templateDigest,
    injections: gap.injections,
    hosts: gap.hosts,
    keys: gap.keys,
    derivedKeys: gap.derivedKeys,
    risk: gap.risk,
    nonRead: gap.nonRead,
    description: gap.description,
  };
}
