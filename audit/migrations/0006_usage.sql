-- Calls per hour, for GET /v1/usage. A trigger counts them in the transaction that stores their
-- records: an event that is delivered again stores no record and so counts nothing, and replicas of
-- an earlier release count too. Counting begins with this migration.
create table audit.usage (
  org_id uuid not null,
  hour timestamptz(0) not null,
  user_id uuid not null,
  -- Empty where `follows_approval`: whoever decided or ran the call may be another identity.
  identity_id text not null,
  -- Empty for a call that named no service, or one that nobody looked up.
  service text not null,
  outcome text not null,
  -- Whether this is what came of a call that waited for a person and was counted when it was asked.
  follows_approval boolean not null,
  -- As the last record of the hour gives it.
  identity_name text not null,
  count bigint not null,
  constraint usage_pkey
    primary key (org_id, hour, user_id, identity_id, service, outcome, follows_approval)
);
create index usage_user_idx on audit.usage (org_id, user_id, hour);
create index usage_hour_idx on audit.usage (hour);

-- It runs as the owner of the schema, so the component's role needs no right to update. Upserts of
-- two transactions do not wait for each other: recording locks the org first (`lockChain`). Rows
-- are upserted in the order of their key all the same, so that no other writer can deadlock.
create function audit.count_calls() returns trigger
  language plpgsql security definer set search_path = pg_catalog, pg_temp
as $$
begin
  insert into audit.usage as counted
         (org_id, hour, user_id, identity_id, service, outcome, follows_approval, identity_name,
          count)
  select org_id, hour, user_id, identity_id, service, outcome, follows_approval,
         (array_agg(identity_name order by seq desc))[1], sum(count)
    from (select org_id, date_trunc('hour', at, 'UTC') as hour, user_id, seq, outcome,
                 follows_approval,
                 case when follows_approval then '' else coalesce(identity ->> 'id', '') end
                   as identity_id,
                 case when follows_approval then '' else coalesce(identity ->> 'name', '') end
                   as identity_name,
                 -- Before policy looked the call up, `service` is whatever the caller wrote, and
                 -- would be a row for each text. From then on the record has a risk.
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
                  -- What a replay did is counted by `execution.finished`, which also tells of those
                  -- that were refused before anything was sent.
                  or (type = 'action.outcome' and execution_id is null))
         ) as call
   group by org_id, hour, user_id, identity_id, service, outcome, follows_approval
   order by org_id, hour, user_id, identity_id, service, outcome, follows_approval
      on conflict on constraint usage_pkey
      do update set count = counted.count + excluded.count,
                    identity_name = excluded.identity_name;
  return null;
end
$$;

create trigger record_counted after insert on audit.record
  referencing new table as added
  for each statement execute function audit.count_calls();

-- Deletes counts that are too old to be asked for, and no others, whoever calls it. Returns how
-- many it deleted.
create function audit.forget_usage(rows_max integer) returns bigint
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
                  returning 1)
  select count(*) from forgotten
$$;
