import type { DecisionStatement } from '#contracts/decision';
import type { Gap } from '#contracts/permit';
import type { Risk, Role } from '#contracts/vocabulary';
import { AppError } from '#errors';
import { compilePattern, matchesKey } from '#permission-key';
import type { Pattern } from '#permission-key';

/** A gap of policy's own signing, and its digest. */
export interface ReadGap {
  readonly gap: Gap;
  readonly digest: string;
}

/** An allowed call has this long to run. */
const replayLifetimeMs = 15 * 60_000;
/**
 * A remembered rule may be planted for as long as the event lives that repeats it. Deleted rules
 * are kept for longer, so a decision that is shown again does not bring one back.
 */
const plantLifetimeMs = 7 * 24 * 60 * 60_000;
/**
 * A cascade reaches no older call: executions are remembered for a day, and an older one could have
 * been sent and forgotten.
 */
const cascadeAgeMs = 23 * 60 * 60_000;
const ttlMaxMs = 365 * 24 * 60 * 60_000;
const clockSkewMs = 1_000;

/**
 * Refuses a decision that is not about this gap, that its decider may not make, or that says more
 * than the gap offers. What may have changed since it was made is for the caller to look up.
 */
export function checkDecision(
  { gap, digest }: ReadGap,
  decision: DecisionStatement,
  { now, toPlant }: { now: number; toPlant: boolean },
): void {
  if (decision.orgId !== gap.orgId || decision.gapDigest !== digest) {
    throw notGenuine('is not about this call');
  }
  if (!mayDecide(gap, decision)) throw notGenuine('is by somebody who may not decide this call');
  const offered = new Set(gap.suggestedTiers.flatMap(({ keys }) => keys));
  if (!decision.patterns.every((pattern) => offered.has(pattern))) {
    throw notGenuine('says to remember what was not offered');
  }
  const isRemembered = decision.resolution === 'allow_remember';
  if (isRemembered !== decision.patterns.length > 0) {
    throw notGenuine('does not say what to remember');
  }
  if (isRemembered && !mayLast(decision)) throw notGenuine('says to remember for too long');
  const isEarly = gap.issuedAt > decision.at + clockSkewMs || decision.at > now + clockSkewMs;
  if (isEarly) throw notGenuine('was made before its call');
  const lifetimeMs = toPlant ? plantLifetimeMs : replayLifetimeMs;
  if (decision.at + lifetimeMs + clockSkewMs < now) {
    throw new AppError('approval_stale', 'The call was allowed too long ago; ask for it again.', {
      details: { changed: 'decision' },
    });
  }
}

/**
 * Refuses a decision on another approval that does not reach this call: only a remembered one
 * cascades, to what waited at the same place when it was made, would be allowed by its rules, is
 * no riskier than what was decided, and not of high risk.
 */
export function checkCascade(
  { gap }: ReadGap,
  decision: DecisionStatement,
  { gap: decided }: ReadGap,
): void {
  const patterns = patternsOf(decided, decision);
  const keys = gap.derivedKeys.filter(({ key }) => gap.uncoveredKeys.includes(key));
  const isCovered =
    keys.length > 0 && keys.every((key) => patterns.some((pattern) => matchesKey(pattern, key)));
  const isMeant =
    decision.cascade && decision.resolution === 'allow_remember' && decision.as === 'ancestor';
  const isSamePlace =
    gap.orgId === decided.orgId &&
    gap.placement.id === decided.placement.id &&
    serviceOf(gap) === serviceOf(decided) &&
    credentialOf(gap) === credentialOf(decided);
  const isNoRiskier = riskOrder[gap.risk] <= riskOrder[decided.risk] && gap.risk !== 'delete';
  const isEarlier =
    gap.issuedAt <= decision.at + clockSkewMs && gap.issuedAt >= decision.at - cascadeAgeMs;
  const mayCascade = isMeant && isCovered && isSamePlace && isNoRiskier && isEarlier;
  if (!mayCascade || !mayDecide(gap, decision)) throw notGenuine('does not reach this call');
}

/**
 * Whether the decider may still allow the call now: it is active, and an ancestor of the requester or
 * an admin. Its standing at the time of the decision does not count.
 */
export function mayStillDecide(
  gap: Gap,
  { deciderId }: DecisionStatement,
  decider: { active: boolean; role: Role | null },
): boolean {
  return decider.active && (isAbove(gap, deciderId) || decider.role === 'admin');
}

/** The patterns as rules store them: keys of the call itself are exact, so that a `*` in one is none. */
export function patternsOf(gap: Gap, { patterns }: DecisionStatement): Pattern[] {
  const exact = new Set(gap.uncoveredKeys);
  return [...new Set(patterns)].map((pattern) => compilePattern(pattern, exact.has(pattern)));
}

/** A remembered rule holds for this service only. */
export function serviceOf({ target }: Gap): string | null {
  return target.kind === 'raw' ? null : target.serviceId;
}

/** And for this credential only; one that the call brings none is for none. */
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

function mayLast({ expiresAt, at, deciderKind, as }: DecisionStatement): boolean {
  if (expiresAt === null) return deciderKind === 'user' && as === 'ancestor';
  return expiresAt <= at + ttlMaxMs;
}

const riskOrder = { read: 0, write: 1, delete: 2 } as const satisfies Record<Risk, number>;

function notGenuine(what: string): AppError {
  return new AppError('unauthenticated', `The decision ${what}.`);
}
