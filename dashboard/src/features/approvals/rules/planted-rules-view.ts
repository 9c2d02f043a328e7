import type { ApprovalResponse } from '#contracts/http/approvals';
import type { Me } from '#contracts/http/identities';
import type { PlantedRule } from './planted-rules.queries.ts';

/**
 * Whether this person may delete the rules of a decided approval. Admins may. A user may if it is a
 * call of their own agent and no admin made the rules (docs/reference/permissions.md#rules).
 */
export function mayStop(
  me: Pick<Me, 'id' | 'role'>,
  { may_resolve: deciders, resolved_by: decider }: ApprovalResponse,
): boolean {
  if (me.role === 'admin') return true;
  if (me.role === 'auditor' || deciders[0] !== me.id) return false;
  return decider?.kind !== 'user' || decider.id === me.id;
}

/** The rule in words: its own description, otherwise that of the suggestion that it came from. */
export function wordsOf(
  rule: Pick<PlantedRule, 'pattern' | 'description'>,
  { suggested_tiers: tiers }: Pick<ApprovalResponse, 'suggested_tiers'>,
): string {
  if (rule.description !== undefined) return rule.description;
  const [tier] = tiers.filter(({ keys }) => keys.includes(rule.pattern));
  return tier?.keys.length === 1 ? tier.description : rule.pattern;
}

export interface Usage {
  readonly count: number;
  readonly lastAt: string | null;
}

/**
 * How often and when the rules of one decision were last used. A call uses all of these rules, so
 * their counts are not added up.
 */
export function usageOf(rules: readonly PlantedRule[]): Usage {
  const uses = rules.map(({ used, use_count: count, last_used_at: lastAt }): Usage =>
    used === undefined
      ? { count, lastAt }
      : { count: used?.count ?? 0, lastAt: used?.last_at ?? null },
  );
  return {
    count: Math.max(0, ...uses.map(({ count }) => count)),
    lastAt:
      uses
        .map(({ lastAt }) => lastAt ?? '')
        .toSorted()
        .at(-1) || null,
  };
}

/** The number of calls that a rule has covered: `3 calls`, `one call`. */
export function callsText(count: number): string {
  return count === 1 ? 'one call' : `${count} calls`;
}
