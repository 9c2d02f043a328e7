-- An identical call that joins an open approval brings its own idempotency key: the approval then has
-- several keys, of which the joined ones may not name the approval of a new preview.
alter table executor.idempotency add column joined boolean not null default false;
create index idempotency_approval_idx on executor.idempotency (org_id, approval_id)
 where approval_id is not null;
