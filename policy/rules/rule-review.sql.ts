import type { Sql } from '#database';
import type { RuleChange } from './domain/rule-changes.ts';

export interface ReviewedRule {
  readonly ruleId: string;
  readonly orgId: string;
  readonly identityId: string | null;
  readonly pattern: string;
  readonly change: RuleChange;
}

/**
 * Returns rules whose meaning has changed through an upgrade and that were not logged yet. Marks
 * these rules as logged.
 */
export async function takeUnloggedRules(sql: Sql, limit: number): Promise<ReviewedRule[]> {
  const rows = await sql<
    {
      rule_id: string;
      org_id: string;
      identity_id: string | null;
      pattern: string;
      change: RuleChange;
    }[]
  >`
    with untold as (
      select rule_id
        from policy.rule_review
       where told_at is null
       order by rule_id
       limit ${limit}
         for update skip locked
    )
    update policy.rule_review as review
       set told_at = now()
      from untold, policy.rule
     where review.rule_id = untold.rule_id
       and rule.id = untold.rule_id
    returning review.rule_id, rule.org_id, rule.identity_id, rule.pattern, review.change
  `;
  return rows.map((row) => ({
    ruleId: row.rule_id,
    orgId: row.org_id,
    identityId: row.identity_id,
    pattern: row.pattern,
    change: row.change,
  }));
}
