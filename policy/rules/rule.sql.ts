import type { Rule as PublicRule } from '#contracts/http/rules';
import type { Risk } from '#contracts/vocabulary';
import type { Sql } from '#database';
import { withHiddenEncoded } from '#permission-key';
import { compilePatterns } from './compiled-patterns.ts';
import { changeMeanings } from './domain/rule-changes.ts';
import type { RuleChange } from './domain/rule-changes.ts';
import type { Rule } from './domain/rule.ts';

interface RuleRow {
  id: string;
  org_id: string;
  identity_id: string | null;
  effect: 'allow' | 'deny';
  pattern: string;
  exact: boolean;
  service_id: string | null;
  credential_id: string | null;
  risk_at_least: Risk | null;
  via: 'self' | null;
  created_by: string;
  approval_id: string | null;
  expires_at: Date | null;
  created_at: Date;
  last_used_at: Date | null;
  use_count: number;
}

export interface NewRule {
  readonly id: string;
  readonly orgId: string;
  readonly identityId: string | null;
  readonly ownerId: string | null;
  readonly effect: 'allow' | 'deny';
  readonly pattern: string;
  readonly exact: boolean;
  readonly serviceId: string | null;
  readonly credentialId: string | null;
  readonly riskAtLeast: Risk | null;
  readonly viaClientId: string | null;
  readonly createdBy: string;
  readonly creatorChain: readonly string[];
  readonly madeByAdmin: boolean;
  readonly approvalId: string | null;
  readonly expiresAt: string | null;
}

const columns = [
  'id',
  'org_id',
  'identity_id',
  'effect',
  'pattern',
  'exact',
  'service_id',
  'credential_id',
  'risk_at_least',
  'via',
  'created_by',
  'approval_id',
  'expires_at',
  'created_at',
  'last_used_at',
  'use_count',
];
const walkedColumns = [...columns, 'via_client_id', 'creator_chain'];
const guardedColumns = [...columns, 'owner_id', 'made_by_admin'];

/**
 * Lists every rule in force on the org and on these identities. The list has no limit, because a
 * missing deny rule would permit a call.
 */
export async function listLiveRules(
  sql: Sql,
  { orgId, identityIds }: { orgId: string; identityIds: readonly string[] },
): Promise<Rule[]> {
  const rows = await sql<(RuleRow & { via_client_id: string | null; creator_chain: string[] })[]>`
    select ${sql(walkedColumns)}
      from policy.rule
     where org_id = ${orgId}
       and (identity_id is null or identity_id = any(${[...identityIds]}::uuid[]))
       and deleted_at is null
       and (expires_at is null or expires_at > now())
     order by id
  `;
  const patterns = await compilePatterns(rows);
  return rows.map((row, index) => ({
    id: row.id,
    identityId: row.identity_id,
    effect: row.effect,
    pattern: patterns[index]!,
    serviceId: row.service_id,
    credentialId: row.credential_id,
    riskAtLeast: row.risk_at_least,
    viaClientId: row.via_client_id,
    creatorChain: row.creator_chain,
    expiresAtMs: row.expires_at?.getTime() ?? null,
  }));
}

/** The conditions that the listed rules must meet. A field that is null sets no condition. */
export interface RuleFilter {
  readonly identityId: string | null;
  readonly effect: Rule['effect'] | null;
  readonly createdBy: string | null;
  readonly approvalId: string | null;
  /** The first segment of the pattern. */
  readonly service: string | null;
  /** `org` lists only the rules on the org. */
  readonly scope: 'org' | null;
}

/**
 * A page of rules, newest first. If `ownerId` is set, rules on the subtrees of other users are left
 * out. Rules on the org are always listed.
 */
export async function listRulePage(
  sql: Sql,
  ruleQuery: RuleFilter & {
    readonly orgId: string;
    readonly ownerId: string | null;
    /** Lists only rules older than this one. */
    readonly beforeId: string | null;
    readonly limit: number;
  },
): Promise<PublicRule[]> {
  const { orgId, ownerId, identityId, effect, createdBy, approvalId, service, scope } = ruleQuery;
  const { beforeId, limit } = ruleQuery;
  const rows = await sql<(RuleRow & { change: RuleChange | null })[]>`
    select ${sql(columns)}, change
      from policy.rule
      left join policy.rule_review on rule_id = id
     where org_id = ${orgId}
       and deleted_at is null
       and (expires_at is null or expires_at > now())
       and (${ownerId}::uuid is null or owner_id = ${ownerId} or identity_id is null)
       and (${identityId}::uuid is null or identity_id = ${identityId})
       and (${effect}::text is null or effect = ${effect})
       and (${createdBy}::uuid is null or created_by = ${createdBy})
       and (${approvalId}::uuid is null or approval_id = ${approvalId})
       and (${service}::text is null or split_part(pattern, ':', 1) = ${service})
       and (${scope}::text is null or identity_id is null)
       and (${beforeId}::uuid is null or id < ${beforeId})
     order by id desc
     limit ${limit}
  `;
  return rows.map(({ change, ...row }) => ({
    ...toPublicRule(row),
    ...(change !== null && { review: changeMeanings[change] }),
  }));
}

export async function findRule(
  sql: Sql,
  { orgId, id }: { orgId: string; id: string },
): Promise<(PublicRule & { ownerId: string | null; madeByAdmin: boolean }) | undefined> {
  const [row] = await sql<(RuleRow & { owner_id: string | null; made_by_admin: boolean })[]>`
    select ${sql(guardedColumns)}
      from policy.rule
     where org_id = ${orgId}
       and id = ${id}
       and deleted_at is null
  `;
  return row && { ...toPublicRule(row), ownerId: row.owner_id, madeByAdmin: row.made_by_admin };
}

/** Counts the rules in force on one identity, or on the org. */
export async function countLiveRules(
  sql: Sql,
  { orgId, identityId }: { orgId: string; identityId: string | null },
): Promise<number> {
  const [row] = await sql<{ count: number }[]>`
    select count(*)::int as count
      from policy.rule
     where org_id = ${orgId}
       and identity_id is not distinct from ${identityId}
       and deleted_at is null
       and (expires_at is null or expires_at > now())
  `;
  return row?.count ?? 0;
}

/**
 * Inserts a rule. Returns undefined when a rule with the same approval and pattern exists, even a
 * deleted one.
 */
export async function insertRule(sql: Sql, rule: NewRule): Promise<PublicRule | undefined> {
  const [row] = await sql<RuleRow[]>`
    insert into policy.rule (id, org_id, identity_id, owner_id, effect, pattern, exact, service_id,
                             credential_id, risk_at_least, via, via_client_id, created_by, creator_chain,
                             made_by_admin, approval_id, expires_at)
    values (${rule.id}, ${rule.orgId}, ${rule.identityId}, ${rule.ownerId}, ${rule.effect},
            ${rule.pattern}, ${rule.exact}, ${rule.serviceId}, ${rule.credentialId},
            ${rule.riskAtLeast}, ${rule.viaClientId === null ? null : 'self'},
            ${rule.viaClientId}, ${rule.createdBy},
            ${[...rule.creatorChain]}::uuid[], ${rule.madeByAdmin}, ${rule.approvalId},
            ${rule.expiresAt})
        on conflict (org_id, approval_id, pattern) do nothing
    returning ${sql(columns)}
  `;
  return row && toPublicRule(row);
}

export async function listPlantedIds(
  sql: Sql,
  {
    orgId,
    approvalId,
    patterns,
  }: { orgId: string; approvalId: string; patterns: readonly string[] },
): Promise<string[]> {
  const rows = await sql<{ id: string }[]>`
    select id
      from policy.rule
     where org_id = ${orgId}
       and approval_id = ${approvalId}
       and pattern = any(${[...patterns]}::text[])
       and deleted_at is null
     order by id
  `;
  return rows.map(({ id }) => id);
}

/**
 * Deletes a rule in force. Returns false when the rule was already deleted, so that only one of two
 * concurrent deletions succeeds.
 */
export async function deleteLiveRule(
  sql: Sql,
  { orgId, id }: { orgId: string; id: string },
): Promise<boolean> {
  const rows = await sql`
    update policy.rule
       set deleted_at = now()
     where org_id = ${orgId}
       and id = ${id}
       and deleted_at is null
    returning id
  `;
  return rows.length === 1;
}

export interface UsedRule {
  readonly orgId: string;
  readonly ruleId: string;
  readonly uses: number;
}

/**
 * Adds to the stored numbers of uses. The rows are locked in the order of their ids, so that
 * replicas cannot deadlock.
 */
export async function addRuleUses(sql: Sql, usedRules: readonly UsedRule[]): Promise<void> {
  const sorted = usedRules.toSorted((left, right) => (left.ruleId < right.ruleId ? -1 : 1));
  await sql`
    with used as (
      select *
        from unnest(${sorted.map(({ orgId }) => orgId)}::uuid[],
                    ${sorted.map(({ ruleId }) => ruleId)}::uuid[],
                    ${sorted.map(({ uses }) => uses)}::int[]) as each (org_id, rule_id, uses)
    ), locked as (
      select rule.id, used.uses
        from policy.rule
        join used on used.org_id = rule.org_id and used.rule_id = rule.id
       order by rule.id
         for update of rule
    )
    update policy.rule
       set use_count = least(rule.use_count::bigint + locked.uses, 2147483647)::int,
           last_used_at = now()
      from locked
     where rule.id = locked.id
       and rule.org_id in (select org_id from used)
  `;
}

/**
 * Deletes rules that ended a month ago. Events are kept for less than a month, so no event can
 * create these rules again.
 */
export async function pruneEndedRules(sql: Sql, limit: number): Promise<number> {
  const { count } = await sql`
    delete from policy.rule
     where (org_id, id) in (select org_id, id
                              from policy.rule
                             where coalesce(deleted_at, expires_at) < now() - interval '30 days'
                             limit ${limit})
  `;
  return count;
}

function toPublicRule(row: RuleRow): PublicRule {
  return {
    id: row.id,
    org_id: row.org_id,
    identity_id: row.identity_id,
    effect: row.effect,
    pattern: withHiddenEncoded(row.pattern),
    exact: row.exact,
    service_id: row.service_id,
    credential_id: row.credential_id,
    risk_at_least: row.risk_at_least,
    via: row.via,
    created_by: row.created_by,
    approval_id: row.approval_id,
    expires_at: row.expires_at?.toISOString() ?? null,
    created_at: row.created_at.toISOString(),
    last_used_at: row.last_used_at?.toISOString() ?? null,
    use_count: row.use_count,
    used:
      row.last_used_at === null
        ? null
        : { count: Math.max(1, row.use_count), last_at: row.last_used_at.toISOString() },
  };
}
