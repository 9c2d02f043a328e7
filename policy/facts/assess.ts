import type { Principal } from '#contracts/vocabulary';
import { platformKey } from '#contracts/platform';
import { createDecisionBudget, findDenial } from '../domain/denials.ts';
import type { WalkedCall } from '../domain/denials.ts';
import type { Standings } from '../domain/rules.ts';
import { walk } from '../domain/walk.ts';
import type { Verdict } from '../domain/walk.ts';
import type { Lookups } from '../lookups/lookups.ts';
import type { CallFacts } from './call-facts.ts';
import { deniesIn, findOtherNames } from './other-names.ts';

/** The verdict of the walk on a call, with the call as it was walked. */
export interface Assessment {
  readonly verdict: Verdict | { readonly outcome: 'user' | 'platform' };
  readonly walked: WalkedCall;
}

/**
 * Walks the chain, except for a call made by a user alone, and for the actions of `platform`, which
 * need no rule and obey deny rules (docs/reference/permissions.md#the-walk).
 */
export async function assess(
  lookups: Lookups,
  standings: Standings,
  { facts, caller }: { facts: CallFacts; caller: Caller },
): Promise<Assessment> {
  const walked: WalkedCall = {
    keys: facts.keys,
    risk: facts.risk,
    serviceId: facts.serviceId,
    credentialIds: facts.injections.map(({ credentialId }) => credentialId),
    isOpenRead: facts.isOpenRead,
    denyNames: [],
    budget: createDecisionBudget(),
  };
  if (caller.kind === 'user') return { verdict: { outcome: 'user' }, walked };
  const denies = deniesIn(standings);
  const ownNames = denies.length === 0 ? [] : facts.ownNames();
  if (facts.template === platformKey) {
    const named = { ...walked, denyNames: ownNames };
    const standing = standings.get(caller.identityId);
    const denial = standing && findDenial(standing, named);
    const verdict = denial ? ({ outcome: 'denied', denial } as const) : undefined;
    return { verdict: verdict ?? { outcome: 'platform' }, walked: named };
  }
  const others = await findOtherNames(lookups, denies, {
    owner: caller,
    host: facts.host,
    risk: facts.risk,
    request: facts.request,
    budget: walked.budget.names,
  });
  const named = { ...walked, denyNames: [...ownNames, ...others] };
  return { verdict: walk(standings, caller.identityId, named), walked: named };
}

export type Caller = Pick<Principal, 'orgId' | 'userId' | 'identityId' | 'kind'>;
