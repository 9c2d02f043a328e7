import type { Call } from '#contracts/call';
import type { Card } from '#contracts/card';
import type { Gap } from '#contracts/permit';
import { riskLevels } from '#contracts/vocabulary';
import { toShownName } from './hidden-text.ts';

export type CardFacts = Omit<
  Card,
  'approval_id' | 'gap_digest' | 'request_digest' | 'action_description' | 'request' | 'disclosed'
>;

/**
 * The part of an approval card that comes from the signed permission gap and not from the request.
 * The component approvals stores it, and the executor's MAC covers it.
 */
export function cardFactsOf(gap: Gap, call: Call): CardFacts {
  const { target } = gap;
  const uncoveredKeys = new Set(gap.uncoveredKeys);
  return {
    requester: requesterOf(gap),
    placement: { ...gap.placement, name: toShownName(gap.placement.name) },
    service: target.kind === 'raw' ? 'http' : target.service,
    template: target.kind === 'raw' ? null : target.template.key,
    action: target.kind === 'action' ? target.action : methodOf(call),
    risk: riskLevels[gap.risk],
    permission_keys: gap.uncoveredKeys,
    derived_keys: gap.derivedKeys.filter(({ key }) => uncoveredKeys.has(key)),
    suggested_tiers: gap.suggestedTiers,
    auto_call_on_approve: gap.autoCallOnApprove,
    created_at: new Date(gap.issuedAt).toISOString(),
  };
}

function requesterOf({ chain, identityId }: Gap): Card['requester'] {
  const requester = chain.at(-1);
  if (requester?.id !== identityId) throw new Error('a chain ends with its identity');
  const { id, kind, name } = requester;
  return { id, kind, name: toShownName(name), path: chain.map((link) => toShownName(link.name)) };
}

function methodOf(call: Call): string {
  return call.kind === 'http' ? call.method : call.action;
}
