-- Deny rules whose meaning narrows with this release: arguments of actions are no longer compared in
-- several spellings, and a deny on a service no longer refuses actions of other services that send the
-- same request (docs/reference/permissions.md#what-a-deny-reaches).
alter table policy.rule_review drop constraint rule_review_change_known;
alter table policy.rule_review add constraint rule_review_change_known
  check (change in (
    'reaches_actions', 'folds_argument', 'spares_neighbours',
    'compares_one_spelling', 'spares_other_services'
  ));

with live as (
  select id, split_part(pattern, ':', 1) as service,
         substring(pattern from '^[^:]*:[^:]*:(.*)$') as arg
    from policy.rule
   where effect = 'deny'
     and deleted_at is null
     and (expires_at is null or expires_at > now())
), changed as (
  select id,
         case
           when service in ('secret', 'connection', 'platform') then null
           when service = 'http' then
             case when arg ~ '/.*[^*/]' then 'compares_one_spelling' end
           when arg not in ('*', '**') then 'compares_one_spelling'
           when service <> '*' then 'spares_other_services'
         end as change
    from live
)
insert into policy.rule_review (rule_id, change)
select id, change
  from changed
 where change is not null
    on conflict (rule_id) do update
    set change = excluded.change, told_at = null;
