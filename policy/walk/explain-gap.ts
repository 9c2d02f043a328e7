import type { ExplainedApproval } from '#contracts/http/approvals';
import { AppError } from '#errors';
import type { Deps } from '../deps.ts';
import { explainVerdict } from './domain/explanation.ts';
import { walk } from './domain/walk.ts';
import { loadRulesByIdentity } from './load-chain-rules.ts';
import { recallCall } from './recall-call.ts';

/**
 * Decides a suspended call by the current rules, as its requester
 * (docs/reference/approvals.md#why-it-is-asked). The facts of the call come from its permission
 * gap.
 */
export async function explainGap(
  { lookups, gapVerifier }: Pick<Deps, 'lookups' | 'gapVerifier'>,
  { orgId, gap: signed }: { orgId: string; gap: string },
): Promise<ExplainedApproval> {
  const gap = gapVerifier.verify(signed);
  if (gap.orgId !== orgId) throw new AppError('not_found', 'There is no such approval.');
  const chainIds = gap.chain.map(({ id }) => id);
  const rulesByIdentity = await loadRulesByIdentity(lookups, orgId, chainIds);
  const call = await recallCall(lookups, rulesByIdentity, gap);
  return { why: explainVerdict(walk(rulesByIdentity, gap.identityId, call), gap.derivedKeys) };
}
