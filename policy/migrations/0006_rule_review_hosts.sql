-- Deny rules of addresses that 0003 passed over: a wildcard in the host, and something literal in the path.
-- They reach no actions, but their path is folded like any argument.
insert into policy.rule_review (rule_id, change)
select id, 'folds_argument'
  from policy.rule
 where effect = 'deny'
   and deleted_at is null
   and (expires_at is null or expires_at > now())
   and pattern like 'http:%'
   and pattern !~ '^http:[^:]*:[^*/]+/'
   -- The path begins with the first slash, or within a "**" before it.
   and pattern ~ '^http:[^:]*:[^/]*?([*][*]|/).*[^*/]'
    on conflict (rule_id) do nothing;
