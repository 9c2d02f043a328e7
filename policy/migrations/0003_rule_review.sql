-- Deny rules that stood before a change of what denies mean, with what changed for each. Policy
-- writes them to its log once; they stay here to be looked up (docs/operating.md).
create table policy.rule_review (
  rule_id uuid primary key references policy.rule (id) on delete cascade,
  change text not null,
  told_at timestamptz,
  constraint rule_review_change_known
    check (change in ('reaches_actions', 'folds_argument', 'spares_neighbours'))
);
create index rule_review_untold_idx on policy.rule_review (rule_id) where told_at is null;

with live as (
  select id, split_part(pattern, ':', 1) as service, split_part(pattern, ':', 2) as action,
         substring(pattern from '^[^:]*:[^:]*:(.*)$') as arg
    from policy.rule
   where effect = 'deny'
     and deleted_at is null
     and (expires_at is null or expires_at > now())
), changed as (
  select id,
         case
           when service = 'http' and arg ~ '^[^*/]+/' then 'reaches_actions'
           when service in ('secret', 'connection') and (action <> '*' or arg !~ '[*]')
             then 'reaches_actions'
           when service in ('http', 'secret', 'connection', 'platform') then null
           when arg not in ('*', '**') then 'folds_argument'
           when service <> '*' then 'spares_neighbours'
         end as change
    from live
)
insert into policy.rule_review (rule_id, change)
select id, change
  from changed
 where change is not null;
