import type { DecisionStatement } from '#contracts/decision';
import type { Gap } from '#contracts/permit';
import type { Risk, Role } from '#contracts/vocabulary';
import { AppError } from '#errors';
import { compilePattern, matchesKey } from '#permission-key';
import type { Pattern } from '#permission-key';

/** A permission gap whose signature policy has verified, together with its digest. */
export interface VerifiedGap {
  readonly gap: Gap;
  readonly digest: string;
}

/** How long after the decision an allowed call may be replayed. In milliseconds. */
const replayLifetimeMs = 15 * 60_000;
/**
 * How long after the decision its rules may be created, in milliseconds: as long as the event of
 * the decision is kept. Deleted rules are kept for longer, so presenting the decision again cannot
 * restore a deleted rule.
 */
const plantLifetimeMs = 7 * 24 * 60 * 60_000;
/**
 * The age up to which a cascade may allow a call. The record that a call was sent is deleted after
 * a day, so an older call could be sent twice.
 */
const cascadeAgeMs = 23 * 60 * 60_000;
const rememberedMsMax = 365 * 24 * 60 * 60_000;
const clockSkewMs = 1_000;

/**
 * Throws unless the decision is about this permission gap, its decider may make the decision, and
 * the decision allows no more than the gap offers. The caller checks what may have changed since
 * the decision.
 */
export function checkDecision(
  { gap, digest }: VerifiedGap,
  decision: DecisionStatement,
  { now, toPlant }: { now: number; toPlant: boolean },
): void {
  if (decision.orgId !== gap.orgId || decision.gapDigest !== digest) {
    throw notGenuineError('is not about this call');
  }
  if (!mayDecide(gap, decision))
    throw notGenuineError('is by somebody who may not decide this call');
  const offeredKeys = new Set(gap.suggestedTiers.flatMap(({ keys }) => keys));
  if (!decision.patterns.every((pattern) => offeredKeys.has(pattern))) {
    throw notGenuineError('says to remember what was not offered');
  }
  const isRemembered = decision.resolution === 'allow_remember';
  if (isRemembered !== decision.patterns.length > 0) {
    throw notGenuineError('does not say what to remember');
  }
  if (isRemembered && !isLifetimeAllowed(decision))
    throw notGenuineError('says to remember for too long');
  const isBeforeCall = gap.issuedAt > decision.at + clockSkewMs || decision.at > now + clockSkewMs;
  if (isBeforeCall) throw notGenuineError('was made before its call');
  const lifetimeMs = toPlant ? plantLifetimeMs : replayLifetimeMs;
  if (decision.at + lifetimeMs + clockSkewMs < now) {
    throw new AppError('approval_stale', 'The call was allowed too long ago; ask for it again.', {
      details: { changed: 'decision' },
    });
  }
}

/**
 * Throws unless the decision on another approval also allows this call (a cascade). Only a decision
 * to remember cascades. It allows only calls that were already waiting at the same placement and
 * that the new rules would allow. Their risk must not be higher than that of the decided call, and
 * they must not delete anything.
 */
export function checkCascade(
  { gap }: VerifiedGap,
  decision: DecisionStatement,
  { gap: decidedGap }: VerifiedGap,
): void {
  const patterns = patternsOf(decidedGap, decision);
  const keys = gap.derivedKeys.filter(({ key }) => gap.uncoveredKeys.includes(key));
  const isCovered =
    keys.length > 0 && keys.every((key) => patterns.some((pattern) => matchesKey(pattern, key)));
  const isCascadeDecision =
    decision.cascade && decision.resolution === 'allow_remember' && decision.as === 'ancestor';
  const isSamePlace =
    gap.orgId === decidedGap.orgId &&
    gap.placement.id === decidedGap.placement.id &&
    serviceOf(gap) === serviceOf(decidedGap) &&
    credentialOf(gap) === credentialOf(decidedGap);
  const isNoRiskier = riskOrder[gap.risk] <= riskOrder[decidedGap.risk] && gap.risk !== 'delete';
  const isWithinCascadeAge =
    gap.issuedAt <= decision.at + clockSkewMs && gap.issuedAt >= decision.at - cascadeAgeMs;
  const mayCascade =
    isCascadeDecision && isCovered && isSamePlace && isNoRiskier && isWithinCascadeAge;
  if (!mayCascade || !mayDecide(gap, decision)) throw notGenuineError('does not reach this call');
}

/**
 * Whether the decider may still allow the call: the decider is active, and is still an admin or an
 * ancestor of the requester.
 */
export function mayStillDecide(
  gap: Gap,
  { deciderId }: DecisionStatement,
  decider: { active: boolean; role: Role | null },
): boolean {
  return decider.active && (isAbove(gap, deciderId) || decider.role === 'admin');
}

/**
 * The patterns of the decision in the form in which rules store them. The call's own permission
 * keys are stored as exact patterns, so that a `*` in a key is not a wildcard.
 */
export function patternsOf(gap: Gap, { patterns }: DecisionStatement): Pattern[] {
  const exactPatterns = new Set(gap.uncoveredKeys);
  return [...new Set(patterns)].map((pattern) =>
    compilePattern(pattern, exactPatterns.has(pattern)),
  );
}

/** The service that a remembered rule is limited to; null for a call to a full URL (raw HTTP). */
export function serviceOf({ target }: Gap): string | null {
  return target.kind === 'raw' ? null : target.serviceId;
}

/** The credential that a remembered rule is limited to; null for calls without a credential. */
export function credentialOf({ injections }: Gap): string | null {
  return injections[0]?.credentialId ?? null;
}

function mayDecide({ identityId, chain }: Gap, decision: DecisionStatement): boolean {
  const { deciderId, deciderKind, role, clientId } = decision;
  if (decision.as === 'self') return deciderId === identityId && clientId !== null;
  if (deciderId === identityId || role === 'auditor') return false;
  return isAbove({ chain }, deciderId) || (deciderKind === 'user' && role === 'admin');
}

function isAbove({ chain }: Pick<Gap, 'chain'>, deciderId: string): boolean {
  return chain.slice(0, -1).some(({ id }) => id === deciderId);
}

function isLifetimeAllowed({ expiresAt, at, deciderKind, as }: DecisionStatement): boolean {
  if (expiresAt === null) return deciderKind === 'user' && as === 'ancestor';
  return expiresAt <= at + rememberedMsMax;
}

const riskOrder = { read: 0, write: 1, delete: 2 } as const satisfies Record<Risk, number>;

function notGenuineError(artefact: string): AppError {
  return new AppError('unauthenticated', `The decision ${artefact}.`);
}
