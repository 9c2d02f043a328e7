-- Calls per day, for counts over many days: the rows of all hours are too many to be summed up for
-- each request. For each kind of key a row per user, day and key. Written by the trigger that
-- writes the counts of hours.
create table audit.usage_day (
  org_id uuid not null,
  -- The beginning of the day in UTC.
  day timestamptz(0) not null,
  user_id uuid not null,
  kind text not null,
  key text not null,
  -- Of an agent, as the last record of the day gives it.
  name text not null,
  count bigint not null,
  constraint usage_day_pkey primary key (org_id, kind, day, user_id, key),
  constraint usage_day_kind_known check (kind in ('outcome', 'agent', 'service'))
);
create index usage_day_user_idx on audit.usage_day (org_id, user_id, kind, day);
create index usage_day_day_idx on audit.usage_day (day);

-- Nothing is recorded between the counts that are summed up here and the new trigger.
lock table audit.record in share row exclusive mode;

insert into audit.usage_day (org_id, day, user_id, kind, key, name, count)
select org_id, date_trunc('day', hour, 'UTC'), user_id, 'outcome', outcome, '', sum(count)
  from audit.usage
 group by 1, 2, 3, 5;
insert into audit.usage_day (org_id, day, user_id, kind, key, name, count)
select org_id, date_trunc('day', hour, 'UTC'), user_id, 'service', service, '', sum(count)
  from audit.usage
 where not follows_approval
 group by 1, 2, 3, 5;
-- The newest name is the greatest pair of hour and name, which needs no sorting.
insert into audit.usage_day (org_id, day, user_id, kind, key, name, count)
select org_id, date_trunc('day', hour, 'UTC'), user_id, 'agent', identity_id,
       (max(array[extract(epoch from hour)::text, identity_name]))[2], sum(count)
  from audit.usage
 where not follows_approval
 group by 1, 2, 3, 5;

create or replace function audit.count_calls() returns trigger
  language plpgsql security definer set search_path = pg_catalog, pg_temp
as $$
begin
  with call as materialized (
    select org_id, date_trunc('hour', at, 'UTC') as hour, user_id, seq, outcome, follows_approval,
           case when follows_approval then '' else coalesce(identity ->> 'id', '') end
             as identity_id,
           case when follows_approval then '' else coalesce(identity ->> 'name', '') end
             as identity_name,
           -- Before policy looked the call up, `service` is whatever the caller wrote, and would be
           -- a row for each text. From then on the record has a risk.
           case when type = 'action.refused' and risk is null then ''
                else coalesce(service, '')
           end as service,
           coalesce(count, 1) as count
      from added,
           lateral (select type in ('approval.resolved', 'execution.finished'))
             as kind (follows_approval)
     where user_id is not null
       and outcome is not null
       and at >= now() - interval '90 days'
       and (type in ('action.denied', 'action.refused', 'approval.raised',
                     'approval.resolved', 'execution.finished')
            -- What a replay did is counted by `execution.finished`, which also tells of those that
            -- were refused before anything was sent.
            or (type = 'action.outcome' and execution_id is null))
  ), hours as (
    insert into audit.usage as counted
           (org_id, hour, user_id, identity_id, service, outcome, follows_approval, identity_name,
            count)
    select org_id, hour, user_id, identity_id, service, outcome, follows_approval,
           (array_agg(identity_name order by seq desc))[1], sum(count)
      from call
     group by org_id, hour, user_id, identity_id, service, outcome, follows_approval
     order by org_id, hour, user_id, identity_id, service, outcome, follows_approval
        on conflict on constraint usage_pkey
        do update set count = counted.count + excluded.count,
                      identity_name = excluded.identity_name
  )
  insert into audit.usage_day as counted (org_id, day, user_id, kind, key, name, count)
  select org_id, date_trunc('day', hour, 'UTC') as day, user_id, kind, key,
         (array_agg(name order by seq desc))[1], sum(count)
    from call,
         lateral (values ('outcome', outcome, ''),
                         ('agent', identity_id, identity_name),
                         ('service', service, '')) as kinds (kind, key, name)
   where kind = 'outcome' or not follows_approval
   group by org_id, kind, day, user_id, key
   order by org_id, kind, day, user_id, key
      on conflict on constraint usage_day_pkey
      do update set count = counted.count + excluded.count, name = excluded.name;
  return null;
end
$$;

-- Counts of days are kept a day longer, because the first day that is asked for may be cut.
create or replace function audit.forget_usage(rows_max integer) returns bigint
  language sql security definer set search_path = pg_catalog, pg_temp
as $$
  with old as (select ctid
                 from audit.usage
                where hour < now() - interval '91 days'
                order by hour
                limit least(rows_max, 10000)
                  for update skip locked),
       forgotten as (delete from audit.usage
                      using old
                      where audit.usage.ctid = old.ctid
                  returning 1),
       old_days as (select ctid
                      from audit.usage_day
                     where day < now() - interval '92 days'
                     order by day
                     limit least(rows_max, 10000)
                       for update skip locked),
       forgotten_days as (delete from audit.usage_day
                           using old_days
                           where audit.usage_day.ctid = old_days.ctid
                       returning 1)
  select greatest((select count(*) from forgotten), (select count(*) from forgotten_days))
$$;
