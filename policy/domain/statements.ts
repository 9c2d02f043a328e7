import { createHash } from 'node:crypto';

import type { Gap, Permit } from '#contracts/permit';

type Facts = Omit<
  Permit,
  'jti' | 'dispatchId' | 'decision' | 'approvalId' | 'executionId' | 'requestDigest' | 'expiresAt'
>;

/** How long a permit may be used to begin sending (docs/reference/identities.md#lifetimes). */
export const permitLifetimeMs = 5_000;

/** Proof that this one call may be executed, until five seconds from now. */
export function buildPermit(
  facts: Facts,
  {
    jti,
    now,
    decision,
    replay,
  }: {
    jti: string;
    now: number;
    decision: Permit['decision'];
    /** Set when an approved call is replayed. */
    replay: {
      approvalId: string;
      executionId: string;
      gapId: string;
      requestDigest: string | null;
    } | null;
  },
): Permit {
  return {
    ...facts,
    jti,
    dispatchId: dispatchIdOf(facts, replay?.gapId ?? jti),
    decision,
    approvalId: replay?.approvalId ?? null,
    executionId: replay?.executionId ?? null,
    requestDigest: replay?.requestDigest ?? null,
    expiresAt: now + permitLifetimeMs,
  };
}

/**
 * One dispatch row per id, ever: the idempotency key's if the call had one, so that a repeated
 * call and a replay of the same key are the same dispatch; keys on reads are ignored. A replay
 * without one is known by the id of its gap, which approvals cannot choose: however often it has a
 * decision replayed, and as whichever execution, there is one dispatch.
 */
export function dispatchIdOf(
  {
    identityId,
    idempotencyKey,
    nonRead,
  }: Pick<Permit, 'identityId' | 'idempotencyKey' | 'nonRead'>,
  otherwise: string,
): string {
  if (idempotencyKey === null || !nonRead) return otherwise;
  const digest = createHash('sha256').update(`${identityId}\0${idempotencyKey}`).digest('hex');
  return `idem-${digest}`;
}

/** What a permit says of a call, from the gap that was signed when it was suspended. */
export function factsOfGap(gap: Gap): Facts {
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
