import type { DecisionStatement } from '#contracts/decision';
import type { Gap } from '#contracts/permit';
import { statementDigest } from '#signing';
import type { Deps } from '../deps.ts';
import { checkCascade, checkDecision } from './domain/decision.ts';
import type { VerifiedGap } from './domain/decision.ts';

export interface VerifiedDecision {
  readonly gap: Gap;
  readonly decision: DecisionStatement;
  readonly approvalId: string;
  /**
   * The digest of the request that a person has seen. Null for a cascaded approval: no person has
   * seen the request, so only the sealed call defines it.
   */
  readonly requestDigest: string | null;
}

/**
 * Verifies a signed permission gap and the decision that auth signed on it or, for a cascade, on
 * another gap. Policy trusts nothing else that approvals sends: approvals only chooses when to
 * replay the call.
 */
export function readDecision(
  deps: Pick<Deps, 'gapVerifier' | 'decisionVerifier' | 'now'>,
  request: {
    readonly gap: string;
    readonly decision: string;
    readonly cascade: { readonly approvalId: string; readonly decidedGap: string } | null;
  },
  { toPlant }: { toPlant: boolean },
): VerifiedDecision {
  const ownGap = readGap(deps, request.gap);
  const decision = deps.decisionVerifier.verify(request.decision);
  const readOptions = { now: deps.now(), toPlant };
  const { gap } = ownGap;
  if (request.cascade === null) {
    checkDecision(ownGap, decision, readOptions);
    const { approvalId, requestDigest } = decision;
    return { gap, decision, approvalId, requestDigest };
  }
  const decidedGap = readGap(deps, request.cascade.decidedGap);
  checkDecision(decidedGap, decision, readOptions);
  checkCascade(ownGap, decision, decidedGap);
  return { gap, decision, approvalId: request.cascade.approvalId, requestDigest: null };
}

function readGap({ gapVerifier }: Pick<Deps, 'gapVerifier'>, signed: string): VerifiedGap {
  return { gap: gapVerifier.verify(signed), digest: statementDigest(signed) };
}
