import type { KeyExplanation } from '#contracts/http/approvals';
import type { DerivedKey } from '#contracts/permit';
import type { Verdict } from './walk.ts';

/**
 * What a verdict says about each permission key of the call, with the rule or allowance that
 * decided.
 */
export function explainVerdict(
  verdict: Verdict | { readonly outcome: 'user' | 'platform' },
  keys: readonly DerivedKey[],
): KeyExplanation[] {
  switch (verdict.outcome) {
    case 'user':
    case 'platform': {
      const by = verdict.outcome;
      return keys.map(({ key }) => ({ key, effect: 'allow', by }));
    }
    case 'denied': {
      const { rule, key } = verdict.denial;
      return [{ key, effect: 'deny', by: 'rule', rule_id: rule.id, ...ownerFieldOf(rule) }];
    }
    case 'allowed':
    case 'gap':
      return verdict.keys.map(({ key: { key }, cover }): KeyExplanation => {
        if (cover === null) return { key, effect: 'gap' };
        if (cover.by === 'read') return { key, effect: 'allow', by: 'read' };
        const { rule } = cover;
        return { key, effect: 'allow', by: 'rule', rule_id: rule.id, ...ownerFieldOf(rule) };
      });
  }
}

function ownerFieldOf({ identityId }: { identityId: string | null }): { identity_id?: string } {
  return identityId === null ? {} : { identity_id: identityId };
}
