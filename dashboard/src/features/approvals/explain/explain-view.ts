import type { ApprovalResponse } from '#contracts/http/approvals';
import type { KeyExplanation } from './explain.queries.ts';

/** Why one key of a call is asked about, or is not. */
export interface Reason {
  readonly key: string;
  readonly sentence: string;
  /** Whether this key is why the call waits. */
  readonly isMissing: boolean;
}

/**
 * The explanation in sentences, those that make the call wait first. Only the names that the
 * approval itself has are known, so other identities are called by what they are.
 */
export function reasonsOf(
  why: readonly KeyExplanation[],
  approval: Pick<ApprovalResponse, 'requester' | 'may_resolve'>,
): Reason[] {
  const reasons = why.map((explanation) => ({
    key: explanation.key,
    sentence: sentenceOf(explanation, approval),
    isMissing: explanation.effect !== 'allow',
  }));
  return [
    ...reasons.filter(({ isMissing }) => isMissing),
    ...reasons.filter(({ isMissing }) => !isMissing),
  ];
}

function sentenceOf(
  { effect, by, identity_id: identityId }: KeyExplanation,
  approval: Pick<ApprovalResponse, 'requester' | 'may_resolve'>,
): string {
  if (effect === 'gap') return 'Nothing allows this yet, so a person is asked.';
  const holder =
    identityId === undefined ? 'everybody in the organisation' : nameOf(identityId, approval);
  if (effect === 'deny') {
    return `A rule for ${holder} forbids this. Allowing it here will not make it run.`;
  }
  if (by === 'read') return 'Allowed without asking, because it only reads.';
  if (by === 'rule') return `Already allowed by a rule for ${holder}.`;
  return 'Already allowed.';
}

/** The path names the user first; `may_resolve` lists the ids of the same line without its end. */
function nameOf(
  id: string,
  { requester, may_resolve: ancestors }: Pick<ApprovalResponse, 'requester' | 'may_resolve'>,
): string {
  if (id === requester.id) return requester.name;
  const at = ancestors.indexOf(id);
  const isWholeLine = ancestors.length === requester.path.length - 1;
  return (isWholeLine ? requester.path[at] : undefined) ?? 'somebody above it';
}
