-- Append-only: the component's role may select and insert, nothing else.
-- A record's id is the id of the event it was made from, so no inbox is needed: an event that
-- comes again finds its record.
create table audit.record (
  id uuid not null,
  org_id uuid not null,
  -- 1, 2, 3 … within an org, without gaps.
  seq bigint not null check (seq > 0),
  -- Milliseconds, as hashed: finer digits could be changed unseen.
  at timestamptz(3) not null,
  type text not null,
  user_id uuid,
  identity jsonb,
  credential jsonb,
  service text,
  template text,
  action text,
  permission_keys text[] not null,
  risk text,
  decision jsonb,
  outcome text,
  error text,
  http_status integer,
  duration_ms double precision,
  description text not null,
  disclosed jsonb not null,
  approval_id uuid,
  execution_id uuid,
  request_id text,
  trace_id text,
  ip text,
  prev_hash text not null check (length(prev_hash) = 64),
  hash text not null check (length(hash) = 64),
  constraint record_pkey primary key (org_id, seq),
  constraint record_id_key unique (id)
);
create index record_user_idx on audit.record (org_id, user_id, seq);
create index record_identity_idx on audit.record (org_id, (identity ->> 'id'), seq);
create index record_approval_idx on audit.record (org_id, approval_id, seq)
 where approval_id is not null;
create index record_at_idx on audit.record (org_id, at);
