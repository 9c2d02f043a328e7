-- The kind of failure, where the provider did not do what was asked. Null in older records, and then
-- not hashed.
alter table audit.record
  add column failure text;
