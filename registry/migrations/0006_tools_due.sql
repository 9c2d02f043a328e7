-- When the server of a service is asked for its tools again: an hour after the last time, and sooner
-- when the service is used, or its server says that they have changed.
alter table registry.connected_service
  add column tools_due_at timestamptz not null default now() + interval '1 hour';
update registry.connected_service
   set tools_due_at = tools_asked_at + interval '1 hour'
 where tools_asked_at is not null;
create index connected_service_tools_due_at_idx
    on registry.connected_service (tools_due_at)
 where toolset_version is not null;
drop index registry.connected_service_tools_asked_at_idx;
