-- Which of several sites, companies or tenants of the account the connection is bound to, and the
-- base URLs to which alone its token goes. Null when the account opens one thing only.
alter table executor.connection add column account_pin jsonb;
-- How the account says where a service of the template is, as policy knows it from the template.
alter table executor.connection_flow add column account_address jsonb;
-- While the person picks one of several values: what they are, and the grant until then, sealed.
alter table executor.connection_flow add column choices jsonb;
alter table executor.connection_flow add column sealed_grant bytea;
alter table executor.connection_flow add column choose_until timestamptz;
alter table executor.connection_flow
  add constraint connection_flow_waiting_is_whole check (num_nulls(choices, sealed_grant, choose_until) in (0, 3));
create index connection_flow_choose_until_idx on executor.connection_flow (choose_until)
  where choose_until is not null;
