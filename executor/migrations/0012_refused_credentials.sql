-- The last time that a provider refused this version of the credential with 401, until a call with it
-- or a later version succeeds.
alter table executor.secret add column refused_at timestamptz;
alter table executor.secret add column refused_version integer;
alter table executor.connection add column refused_at timestamptz;
alter table executor.connection add column refused_version integer;
-- When a success ended the last refusal. Soon after it no refusal is noted, so that a provider which
-- answers 401 for other reasons as well does not cause an event with each call.
alter table executor.secret add column accepted_at timestamptz;
alter table executor.connection add column accepted_at timestamptz;
