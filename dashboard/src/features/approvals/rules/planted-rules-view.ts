import type { ApprovalResponse } from '#contracts/http/approvals';
import type { Me } from '#contracts/http/identities';
import type { PlantedRule } from './planted-rules.queries.ts';

/**
 * Whether this person may delete the rules of a decided approval: admins may, and a user those
 * below itself, unless an admin made them (docs/reference/permissions.md#rules).
 */
export function mayStop(
  me: Pick<Me, 'id' | 'role'>,
  { may_resolve: deciders, resolved_by: decider }: ApprovalResponse,
): boolean {
  if (me.role === 'admin') return true;
  if (me.role === 'auditor' || deciders[0] !== me.id) return false;
  return decider?.kind !== 'user' || decider.id === me.id;
}

/** The rule in words: its own, otherwise those of the suggestion that it came from. */
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

/** What the rules of one decision have covered. A call uses all of them, so their counts are no sum. */
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

/** `3 calls`, `one call`, for what a rule has covered. */
export function callsText(count: number): string {
  return count === 1 ? 'one call' : `${count} calls`;
}
