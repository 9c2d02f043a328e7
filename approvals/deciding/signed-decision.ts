import type { DecisionStatement } from '#contracts/decision';
import type { Principal } from '#contracts/vocabulary';
import { AppError } from '#errors';
import type { RulePattern } from '#permission-key';
import { statementDigest } from '#signing';
import type { Deps } from '../deps.ts';
import type { Approval } from '../domain/approval.ts';
import type { Remember } from '../domain/decision.ts';

interface Allowing {
  readonly approval: Approval;
  /** Policy's, as signed. */
  readonly gap: string;
  readonly decider: Principal;
  readonly as: DecisionStatement['as'];
  readonly remember: Remember | null;
  readonly patterns: readonly RulePattern[];
  readonly acknowledge: DecisionStatement['acknowledge'];
}

/**
 * Refuses a decision that does not say what was asked for: policy would permit no replay by it,
 * and the approval would be allowed for nothing.
 */
export function checkSignedDecision(
  { decisions }: Pick<Deps, 'decisions'>,
  signed: string | null,
  { approval, gap, decider, as, remember, patterns, acknowledge }: Allowing,
): string {
  if (signed === null) {
    throw new AppError(
      'approval_stale',
      'This call was suspended by an earlier version and can only be denied or cancelled; make it again.',
    );
  }
  const decision = decisions.verify(signed);
  const saysSo =
    decision.orgId === approval.orgId &&
    decision.approvalId === approval.id &&
    decision.deciderId === decider.identityId &&
    decision.as === as &&
    decision.gapDigest === statementDigest(gap) &&
    decision.requestDigest === approval.requestDigest &&
    decision.resolution === (remember ? 'allow_remember' : 'allow') &&
    decision.cascade === (as === 'ancestor' && remember?.cascade === true) &&
    decision.acknowledge === acknowledge &&
    isSameSet(
      decision.patterns,
      patterns.map(({ pattern }) => pattern),
    );
  if (saysSo) return signed;
  throw new AppError(
    'card_not_verified',
    'What was allowed is not what waits here; read the approval again, and deny it if in doubt.',
  );
}

function isSameSet(left: readonly string[], right: readonly string[]): boolean {
  const rights = new Set(right);
  return new Set(left).size === rights.size && left.every((each) => rights.has(each));
}
