import type { DecisionStatement } from '#contracts/decision';
import type { Principal } from '#contracts/vocabulary';
import { AppError } from '#errors';
import type { RulePattern } from '#permission-key';
import { statementDigest } from '#signing';
import type { Approval } from '../approval/domain/approval.ts';
import type { Deps } from '../deps.ts';
import type { RememberOptions } from './domain/decision.ts';

interface AllowRequest {
  readonly approval: Approval;
  /** The permission gap that policy signed. */
  readonly gap: string;
  readonly decider: Principal;
  readonly as: DecisionStatement['as'];
  readonly remember: RememberOptions | null;
  readonly patterns: readonly RulePattern[];
  readonly acknowledge: DecisionStatement['acknowledge'];
}

/**
 * Throws unless the signed decision is the one that the request contains. With a different decision
 * the allowance would have no effect, because policy would refuse to replay the call.
 */
export function checkSignedDecision(
  { decisions }: Pick<Deps, 'decisions'>,
  signedDecision: string | null,
  { approval, gap, decider, as, remember, patterns, acknowledge }: AllowRequest,
): string {
  if (signedDecision === null) {
    throw new AppError(
      'approval_stale',
      'This call was suspended by an earlier version and can only be denied or cancelled; make it again.',
    );
  }
  const statement = decisions.verify(signedDecision);
  const isAsRequested =
    statement.orgId === approval.orgId &&
    statement.approvalId === approval.id &&
    statement.deciderId === decider.identityId &&
    statement.as === as &&
    statement.gapDigest === statementDigest(gap) &&
    statement.requestDigest === approval.requestDigest &&
    statement.resolution === (remember ? 'allow_remember' : 'allow') &&
    statement.cascade === (as === 'ancestor' && remember?.cascade === true) &&
    statement.acknowledge === acknowledge &&
    isSameSet(
      statement.patterns,
      patterns.map(({ pattern }) => pattern),
    );
  if (isAsRequested) return signedDecision;
  throw new AppError(
    'card_not_verified',
    'What was allowed is not what waits here; read the approval again, and deny it if in doubt.',
  );
}

function isSameSet(left: readonly string[], right: readonly string[]): boolean {
  const rightSet = new Set(right);
  return new Set(left).size === rightSet.size && left.every((each) => rightSet.has(each));
}
