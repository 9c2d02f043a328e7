import type { DecisionStatement } from '#contracts/decision';
import type { Gap } from '#contracts/permit';
import { statementDigest } from '#signing';
import type { Deps } from '../deps.ts';
import { checkCascade, checkDecision } from '../domain/decisions.ts';
import type { ReadGap } from '../domain/decisions.ts';

export interface Decided {
  readonly gap: Gap;
  readonly decision: DecisionStatement;
  readonly approvalId: string;
  /** Null for a cascaded one: nobody was shown its request, so its sealed call alone says it. */
  readonly requestDigest: string | null;
}

/**
 * A gap that policy signed and the decision that auth signed for it, or, by cascade, for another
 * gap. Nothing else that approvals says is believed; it only chooses when.
 */
export function readDecision(
  deps: Pick<Deps, 'gapVerifier' | 'decisionVerifier' | 'now'>,
  request: {
    readonly gap: string;
    readonly decision: string;
    readonly cascade: { readonly approvalId: string; readonly decidedGap: string } | null;
  },
  { toPlant }: { toPlant: boolean },
): Decided {
  const own = readGap(deps, request.gap);
  const decision = deps.decisionVerifier.verify(request.decision);
  const times = { now: deps.now(), toPlant };
  const { gap } = own;
  if (request.cascade === null) {
    checkDecision(own, decision, times);
    const { approvalId, requestDigest } = decision;
    return { gap, decision, approvalId, requestDigest };
  }
  const decided = readGap(deps, request.cascade.decidedGap);
  checkDecision(decided, decision, times);
  checkCascade(own, decision, decided);
  return { gap, decision, approvalId: request.cascade.approvalId, requestDigest: null };
}

function readGap({ gapVerifier }: Pick<Deps, 'gapVerifier'>, signed: string): ReadGap {
  return { gap: gapVerifier.verify(signed), digest: statementDigest(signed) };
}
