import type { Principal } from '#contracts/vocabulary';
import { platformKey } from '#contracts/platform';
import type { CallFacts } from '../calls/call-facts.ts';
import { findOtherNames } from '../denials/other-names.ts';
import type { Lookups } from '../deps.ts';
import { denyPatternsIn } from './domain/chain-rules.ts';
import type { RulesByIdentity } from './domain/chain-rules.ts';
import { createDecisionBudget, findDenial } from './domain/denial.ts';
import type { WalkedCall } from './domain/denial.ts';
import { walk } from './domain/walk.ts';
import type { Verdict } from './domain/walk.ts';

/**
 * The verdict of the permission walk on a call, together with the call in the form that the walk
 * takes.
 */
export interface Assessment {
  readonly verdict: Verdict | { readonly outcome: 'user' | 'platform' };
  readonly walked: WalkedCall;
}

/**
 * Decides a call by the permission walk. A user's own call skips the walk, because a user needs no
 * rule. The actions of `platform` need no rule either, but obey deny rules
 * (docs/reference/permissions.md#the-walk).
 */
export async function assessCall(
  lookups: Lookups,
  rulesByIdentity: RulesByIdentity,
  { facts, caller }: { facts: CallFacts; caller: Caller },
): Promise<Assessment> {
  const walkedCall: WalkedCall = {
    keys: facts.keys,
    risk: facts.risk,
    serviceId: facts.serviceId,
    credentialIds: facts.injections.map(({ credentialId }) => credentialId),
    isOpenRead: facts.isOpenRead,
    denyNames: [],
    budget: createDecisionBudget(),
  };
  if (caller.kind === 'user') return { verdict: { outcome: 'user' }, walked: walkedCall };
  const denies = denyPatternsIn(rulesByIdentity);
  const ownNames = denies.length === 0 ? [] : facts.ownNames();
  if (facts.template === platformKey) {
    const callWithOwnNames = { ...walkedCall, denyNames: ownNames };
    const chainRules = rulesByIdentity.get(caller.identityId);
    const denial = chainRules && findDenial(chainRules, callWithOwnNames);
    const verdict = denial ? ({ outcome: 'denied', denial } as const) : undefined;
    return { verdict: verdict ?? { outcome: 'platform' }, walked: callWithOwnNames };
  }
  const { host, risk, request, target } = facts;
  const ownTemplate = target.kind === 'action' ? target.template : undefined;
  const otherNames = facts.isJudgedAsRequest
    ? await findOtherNames(lookups, denies, { owner: caller, host, risk, request, ownTemplate })
    : [];
  const callWithAllNames = { ...walkedCall, denyNames: [...ownNames, ...otherNames] };
  return {
    verdict: walk(rulesByIdentity, caller.identityId, callWithAllNames),
    walked: callWithAllNames,
  };
}

export type Caller = Pick<Principal, 'orgId' | 'userId' | 'identityId' | 'kind'>;
