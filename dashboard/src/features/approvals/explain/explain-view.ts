import type { ApprovalResponse } from '#contracts/http/approvals';
import type { KeyExplanation } from './explain.queries.ts';

/** Why a person is asked about one key of a call, or is not asked. */
export interface Reason {
  readonly key: string;
  readonly sentence: string;
  /** Whether the call waits because of this key. */
  readonly isMissing: boolean;
}

/**
 * The explanation in sentences. The keys that make the call wait come first. Only identities whose
 * names are in the approval are named; any other is described by its relation.
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

/**
 * `requester.path` begins with the name of the user. `may_resolve` has the ids of the same
 * identities in the same order, but without the requester.
 */
function nameOf(
  id: string,
  { requester, may_resolve: ancestors }: Pick<ApprovalResponse, 'requester' | 'may_resolve'>,
): string {
  if (id === requester.id) return requester.name;
  const at = ancestors.indexOf(id);
  const isWholeChain = ancestors.length === requester.path.length - 1;
  return (isWholeChain ? requester.path[at] : undefined) ?? 'somebody above it';
}
