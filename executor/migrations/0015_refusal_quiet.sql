-- For how long after accepted_at no refusal is noted. It doubles with each refusal that a success ends;
-- null means a minute.
alter table executor.secret add column refusal_quiet_seconds integer;
alter table executor.connection add column refusal_quiet_seconds integer;
