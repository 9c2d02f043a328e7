-- Since when each attempt to refresh the tokens has failed, for whatever reason. Older than the last
-- tokens (last_refreshed_at, granted_at): it does not fail any more.
alter table executor.connection add column refresh_failing_since timestamptz;
-- How often the provider has refused the refresh token since then without saying that it is dead, and
-- when it did so first. Outages count in neither.
alter table executor.connection add column refresh_refused_since timestamptz;
alter table executor.connection add column refresh_refusals integer;
-- The scopes in the provider's words, where they are not those that it is asked by; and those that were
-- asked for with the last grant and not granted.
alter table executor.connection add column reported_scopes text[];
alter table executor.connection add column withheld_scopes text[];
