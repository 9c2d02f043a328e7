-- Headers, media type and credentials of a call. Null in older records, and then not hashed.
alter table audit.record
  add column request jsonb;
