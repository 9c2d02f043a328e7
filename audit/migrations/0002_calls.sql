-- What is known of a call under one id, and refusals that are counted. All null in older records:
-- members that are null are not hashed, so the chains stay as they are.
alter table audit.record
  add column call_id uuid,
  add column request_digest text,
  add column count integer check (count > 0);
-- For the look-up of one call.
create index record_call_idx on audit.record (org_id, call_id, seq)
 where call_id is not null;
